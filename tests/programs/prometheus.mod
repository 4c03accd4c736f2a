// promtool, with dependencies of its own: see ./build.
module poolgate.dev/tests/programs

go 1.26.7

require github.com/prometheus/prometheus v0.316.0
