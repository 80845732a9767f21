package shard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

// Inventory identifies the files of a run by their names below the folders that were
// given, their sizes, and what a store says of their content. Times do not count:
// copies of a run are the same.
type Inventory struct{ sum hash.Hash }

// NewInventory returns the inventory of no files.
func NewInventory() Inventory { return Inventory{sha256.New()} }

// Add adds a file: its name with /, below the path that was given as the root-th, and
// its ETag where it has one.
func (v Inventory) Add(root int, name string, size int64, etag string) {
	fmt.Fprintf(v.sum, "%d %q %d %q\n", root, name, size, etag) // never fails
}

// String is the inventory in base 16.
func (v Inventory) String() string { return hex.EncodeToString(v.sum.Sum(nil)) }
