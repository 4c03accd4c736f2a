module poolgate.dev/provider-record

go 1.26
