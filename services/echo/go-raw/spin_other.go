// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import (
	"errors"
	"net"
)

func spinning(net.Listener) (net.Listener, error) {
	return nil, errors.New("--wait spin; needed: Linux")
}
