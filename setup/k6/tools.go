// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools keeps k6 in go.mod although nothing here calls it.
package tools

import _ "go.k6.io/k6"
