package shard

import (
	"encoding/json"
	"fmt"
	"hash/crc32"

	"dumptool/internal/lang"
)

// Schema is that of the part files that are written and read here.
const Schema = "dumptool/part/1"

// A part file has lines of JSON: a Head, a row a line in rising order of their index,
// and an end. It is a function of the work and the shard: two processes that are the
// same shard write the same bytes.

// Head is the first line of a part file.
type Head struct {
	Schema string `json:"schema"`
	// Kind is the command whose rows these are: compare, scan, analyze, convert.
	Kind string `json:"kind"`
	// Tool is the program and its version.
	Tool string `json:"tool"`
	// Plan identifies the work that was divided, whatever its shards.
	Plan  string `json:"plan"`
	Shard int    `json:"shard"`
	Of    int    `json:"of"`
	// Rows is the number of rows of all shards together; their indexes are 0 to Rows-1.
	Rows int `json:"rows"`
	// Meta is what the command says of the work as a whole, the same in all parts.
	Meta json.RawMessage `json:"meta,omitempty"`
}

// Row is a line of a part file between the first and the last.
type Row struct {
	// Index is the place of the row among those of all shards.
	Index int `json:"i"`
	// Data is what the command has to say, in one line.
	Data json.RawMessage `json:"row"`
}

// end is the last line of a part file.
type end struct {
	End  bool `json:"end"`
	Rows int  `json:"rows"`
	// Sum is the CRC-32C (Castagnoli) of all bytes before the line, as eight digits of
	// base 16.
	Sum string `json:"crc32c"`
}

// castagnoli is the polynomial of CRC-32C.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maxLine bounds the line of a row, and what is held of one.
const maxLine = 32 << 20

// FileName is the name of the part file of a shard: part-00002-of-00004.jsonl.
func FileName(index, of int) string { return fmt.Sprintf("part-%05d-of-%05d.jsonl", index, of) }

// partName matches the names of part files.
var partName = lang.Pattern(`^part-(\d{5,7})-of-(\d{5,7})\.jsonl$`)

// IsFileName reports whether a file is a part by its name.
func IsFileName(name string) bool { return partName().MatchString(name) }
