// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import (
	"errors"
	"net"
)

func startEpoll(net.Listener, *site) (net.Listener, error) {
	return nil, errors.New("--server epoll: requires Linux")
}
