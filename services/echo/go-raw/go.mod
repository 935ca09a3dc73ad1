module rematch/services/echo/go-raw

go 1.26
