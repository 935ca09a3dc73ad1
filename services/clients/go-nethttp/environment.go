// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// databaseAccess is where the database is and who we are there.
type databaseAccess struct {
	host                     string
	port                     uint16
	user, password, database string
}

// backing is what the service needs beside itself.
type backing struct {
	upstream string // http://HOST:PORT
	database databaseAccess
}

// readEnvironment returns an error of one line when a variable is missing or cannot be used.
func readEnvironment(lookup func(string) (string, bool)) (backing, error) {
	value, missing := map[string]string{}, []string{}
	for _, name := range []string{"UPSTREAM_URL", "PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"} {
		text, found := lookup(name)
		if !found || (text == "" && name != "PGPASSWORD") {
			missing = append(missing, name)
		}
		value[name] = text
	}
	if len(missing) > 0 {
		return backing{}, fmt.Errorf("not in the environment: %s", strings.Join(missing, ", "))
	}
	base := strings.TrimSuffix(value["UPSTREAM_URL"], "/")
	parsed, err := url.Parse(base)
	if err != nil || parsed.Scheme != "http" || parsed.Hostname() == "" || base != "http://"+parsed.Host {
		return backing{}, fmt.Errorf("UPSTREAM_URL %q; needed: http://HOST:PORT", value["UPSTREAM_URL"])
	}
	port, err := strconv.ParseUint(value["PGPORT"], 10, 16)
	if err != nil || port == 0 {
		return backing{}, fmt.Errorf("PGPORT %q; needed: a number from 1 to 65535", value["PGPORT"])
	}
	if strings.HasPrefix(value["PGHOST"], "/") {
		return backing{}, fmt.Errorf("PGHOST %q; needed: a host, since connections are TCP", value["PGHOST"])
	}
	access := databaseAccess{
		host: value["PGHOST"], port: uint16(port),
		user: value["PGUSER"], password: value["PGPASSWORD"], database: value["PGDATABASE"],
	}
	return backing{upstream: base, database: access}, nil
}
