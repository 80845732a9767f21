package shard

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
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

// Fingerprint identifies work by the keys and sizes of its rows, in their order, and
// what else changes its results.
type Fingerprint struct{ sum hash.Hash }

// NewFingerprint returns the fingerprint of no work.
func NewFingerprint() Fingerprint { return Fingerprint{sha256.New()} }

// Add adds a row, or an option. Each is taken apart from those before and after it.
func (f Fingerprint) Add(key string, sizes ...int64) {
	head := binary.BigEndian.AppendUint64(nil, uint64(len(key)))
	tail := binary.BigEndian.AppendUint64(nil, uint64(len(sizes)))
	for _, size := range sizes {
		tail = binary.BigEndian.AppendUint64(tail, uint64(size))
	}
	for _, b := range [][]byte{head, []byte(key), tail} {
		f.sum.Write(b) // never fails
	}
}

// String is the fingerprint in base 16.
func (f Fingerprint) String() string { return hex.EncodeToString(f.sum.Sum(nil)) }
