module rematch/services/bank/go-gorilla

go 1.26.0
