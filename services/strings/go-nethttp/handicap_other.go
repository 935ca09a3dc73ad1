// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "time"

const hasCPUClock = false

func processCPU() time.Duration { return 0 }

func threadCPU() time.Duration { return 0 }
