// SPDX-License-Identifier: Apache-2.0
// What k6 is built from. `go get go.k6.io/k6@VERSION && go mod tidy` moves it; then K6_VERSION in
// harness/toolchains/wanted.py.
module rematch/k6

go 1.24

require go.k6.io/k6 v1.8.0
