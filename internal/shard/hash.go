package shard

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
)

// Key names a tensor of a run in the same words on every machine: its operator, its
// kind (input, output), index and round, and its path below the folder of the run,
// with / on all systems, with NUL in between. No character is changed.
func Key(op, kind string, index int, round, path string) string {
	return strings.Join([]string{op, kind, strconv.Itoa(index), round, path}, "\x00")
}

// Of returns which of n shards the work with a key belongs to: the first eight bytes
// of the SHA-256 of the key, big endian, modulo n. It is the same in every version,
// on every machine.
func Of(key string, n int) int {
	sum := sha256.Sum256([]byte(key))
	return int(binary.BigEndian.Uint64(sum[:]) % uint64(max(n, 1)))
}
