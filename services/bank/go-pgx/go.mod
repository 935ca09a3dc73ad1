module rematch/services/bank/go-pgx

go 1.26.0
