module rematch/services/clients/go-nethttp

go 1.26.0

require (
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3
	github.com/jackc/pgx/v5 v5.7.6
	github.com/prometheus/client_golang v1.25.0
)
