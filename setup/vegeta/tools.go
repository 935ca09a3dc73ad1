// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools keeps vegeta in go.mod although nothing here calls it.
package tools

import _ "github.com/tsenart/vegeta/v12"
