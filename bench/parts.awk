# Sums the output of callgrind_annotate by part of a review: PART<tab>COUNT. Inlined code counts for the function that it
# was inlined into.

# The part of FILE:FUNCTION. The first match counts: copying bytes is its own part, whatever calls it.
function part(where) {
    if (where ~ /mimalloc|:_?mi_/) return "memory: mimalloc"
    if (where ~ /:_*(mem(cpy|move|set|cmp|chr|rchr)|bcmp)/) return "copying and comparing bytes"
    if (where ~ /rustls|aws[-_]lc|aesni|gcm_|ghash|sha(1|256|512)_|vaes/) return "TLS: rustls, aws-lc"
    if (where ~ /hyper|httparse|http_body|http-|http::|axum|tower|matchit|poolgate::http/) return "HTTP: hyper, axum"
    if (where ~ /tokio|mio::|futures|bytes::|nptl|sysdeps\/unix/) return "sockets and tasks: tokio"
    if (where ~ /serde|poolgate_core::json|core\/src\/json/) return "reading JSON: serde_json"
    if (where ~ /poolgate_core|core\/src\/(karpenter|rules|value|policy|budget|defaults|diagnostic)\//) return "rules and defaults"
    if (where ~ /poolgate/) return "envelope, answer, metrics"
    return "the standard library, called from several of these"
}

/^ *[0-9,]+ +\( *[0-9.]+%\) +/ && !/PROGRAM TOTALS/ {
    count = $1
    gsub(/,/, "", count)
    sub(/^[^)]*\) +/, "")
    sub(/ \[[^]]*\]$/, "")
    counts[part($0)] += count
}

END {
    for (name in counts) print name "\t" counts[name]
}
