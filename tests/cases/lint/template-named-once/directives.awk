# Puts a condition below spec.
{ print }
/^spec:/ { print "  " o " if a " c "\n  weight: 999\n  " o " else " c "\n  weight: 1000\n  " o " end " c }
