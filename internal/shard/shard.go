// Package shard divides work among processes that do not communicate, and decides which of their
// documents belong together.
//
// A process is shard i of n. Its part of the work follows from balancing the sizes of all parts, so
// that all processes agree without communication. It writes an ordinary document of its command,
// which also records its origin.
package shard

import (
	"cmp"
	"container/heap"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/lang"
)

// MaxShards bounds the number of shards.
const MaxShards = 1 << 20

// Spec identifies a shard among a number of shards. The zero Spec is a process that does all of the
// work.
type Spec struct {
	// Index is 0 to Of-1.
	Index int `json:"index"`
	Of    int `json:"of"`
}

// IsSharded reports whether the process does only a part of the work.
func (s Spec) IsSharded() bool { return s.Of > 0 }

// String returns the form of the command line: 2/4.
func (s Spec) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Folder returns the shard's output folder, shard-00002-of-00004; empty for all of the work.
func (s Spec) Folder() string {
	if !s.IsSharded() {
		return ""
	}
	return fmt.Sprintf("shard-%05d-of-%05d", s.Index, s.Of)
}

// Variables lists the variables in which schedulers pass the index of an array's process, from 0:
// Slurm, Kubernetes, Volcano (two spellings), AWS Batch, PBS.
var Variables = []string{
	"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "VC_TASK_INDEX", "VK_TASK_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX", "PBS_ARRAY_INDEX",
}

// auto takes the index from the scheduler.
const auto = "auto"

// Parse parses the value of --shard: 2/4, or auto/4 with the index in the first of Variables that
// is set. The number of shards must be given: a scheduler that reruns one task of an array reports
// an array of one. An empty text means all of the work; if a scheduler has set a variable, a note
// says so.
func Parse(text string, getenv func(name string) string) (Spec, []lang.Sentence, error) {
	if text == "" {
		if name, value, _ := schedulerIndex(getenv); name != "" {
			return Spec{}, []lang.Sentence{lang.Say("%s is %s; without --shard all of the work is done here", name, value)}, nil
		}
		return Spec{}, nil, nil
	}
	index, of, ok := strings.Cut(text, "/")
	n, err := strconv.ParseUint(of, 10, 31)
	if !ok || err != nil || n < 1 {
		return Spec{}, nil, lang.Errorf("--shard %s: want INDEX/COUNT, such as 0/4, or auto/4", text)
	}
	if n > MaxShards {
		return Spec{}, nil, lang.Errorf("--shard %s: there are at most %d shards", text, MaxShards)
	}
	from := ""
	if index == auto {
		var other string
		if from, index, other = schedulerIndex(getenv); other != "" {
			return Spec{}, nil, lang.Errorf("--shard %s: %s is %s and %s is %s: give the number", text, from, index, other, getenv(other))
		}
		if from == "" {
			return Spec{}, nil, lang.Errorf("--shard %s: none of %s is set: give the number", text, strings.Join(Variables, ", "))
		}
		from += " is " + index + ", "
	}
	i, err := strconv.ParseUint(index, 10, 31)
	switch {
	case err != nil && from != "":
		return Spec{}, nil, lang.Errorf("--shard %s: %swant a number from 0", text, from)
	case err != nil:
		return Spec{}, nil, lang.Errorf("--shard %s: want INDEX/COUNT, such as 0/4, or auto/4", text)
	case i >= n:
		return Spec{}, nil, lang.Errorf("--shard %s: %sshards are 0/%d to %d/%d", text, from, n, n-1, n)
	}
	return Spec{Index: int(i), Of: int(n)}, nil, nil
}

// schedulerIndex returns the first variable that is set with its value, and the first variable with a
// different value.
func schedulerIndex(getenv func(string) string) (name, value, other string) {
	for _, v := range Variables {
		switch now := getenv(v); {
		case now == "" || now == value:
		case name == "":
			name, value = v, now
		default:
			return name, value, v
		}
	}
	return name, value, ""
}

// Ranges formats ascending numbers with runs joined, in the form of schedulers: 3,17,40-42.
func Ranges(numbers []int) string {
	return strings.ReplaceAll(rangesText(numbers), " ", "")
}

// rangesText is Ranges for people: 3, 17, 40-42.
func rangesText(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return lang.Ranges(texts)
}

// Share returns the items of a shard in their order; all items for the zero Spec. Items with one
// key stay together, and the keys are balanced by the sizes of their items.
func Share[T any](spec Spec, all []T, key func(T) string, size func(T) int64) []T {
	if !spec.IsSharded() {
		return all
	}
	group := make(map[string]int)
	var keys []string
	var sizes []int64
	of := make([]int, len(all))
	for i, x := range all {
		k := key(x)
		g, seen := group[k]
		if !seen {
			g = len(keys)
			group[k] = g
			keys, sizes = append(keys, k), append(sizes, 0)
		}
		of[i] = g
		sizes[g] += size(x)
	}
	shards := Balance(sizes, keys, spec.Of)
	var mine []T
	for i, x := range all {
		if shards[of[i]] == spec.Index {
			mine = append(mine, x)
		}
	}
	return mine
}

// Balance divides work of known sizes among n shards so that the largest share is small: in
// descending order of size, each piece goes to the shard with the smallest load (LPT). Ties between
// pieces follow their keys; ties between shards go to the shard with fewer pieces, then to the
// lower number. It returns the shard of each piece. Negative sizes count as 0.
func Balance(sizes []int64, keys []string, n int) []int {
	order := make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(max(sizes[j], 0), max(sizes[i], 0)), strings.Compare(keys[i], keys[j]), cmp.Compare(i, j))
	})
	loads := make(loads, max(n, 1))
	for i := range loads {
		loads[i].shard = i
	}
	shards := make([]int, len(sizes))
	for _, i := range order {
		least := &loads[0]
		shards[i] = least.shard
		least.size, least.pieces = addSaturating(least.size, max(sizes[i], 0)), least.pieces+1
		heap.Fix(&loads, 0)
	}
	return shards
}

// Portion is a shard's portion of a divisible unit of work.
type Portion struct {
	// Of is the number of parts, Mine lists the shard's parts, from 0.
	Of   int
	Mine []int
}

// IsFirst reports whether the shard has the first part. That shard prints the messages about the whole unit.
func (p *Portion) IsFirst() bool { return len(p.Mine) > 0 && p.Mine[0] == 0 }

// MarkUnits marks the unit's pieces that belong to the shard.
func (p *Portion) MarkUnits(sizes []int64, keys []string) []bool {
	parts, mine := Balance(sizes, keys, p.Of), make([]bool, len(sizes))
	for i, part := range parts {
		mine[i] = slices.Contains(p.Mine, part)
	}
	return mine
}

// Divide assigns units of work of known sizes. A unit as large as the shares of k shards is divided
// into k parts.
func Divide(spec Spec, sizes []int64, keys []string) []Portion {
	n, total := max(spec.Of, 1), int64(0)
	for _, size := range sizes {
		total = addSaturating(total, max(size, 0))
	}
	portions := make([]Portion, len(sizes))
	var pieces []int64
	var names []string
	var of [][2]int // unit and part of each piece
	for i, size := range sizes {
		parts := 1
		if size > 0 {
			high, low := bits.Mul64(uint64(size), uint64(n))
			shares, _ := bits.Div64(high, low, uint64(total))
			parts = max(1, int(shares))
		}
		portions[i].Of = parts
		for part := range parts {
			pieces, names, of = append(pieces, size/int64(parts)), append(names, fmt.Sprintf("%s\x00%08d", keys[i], part)), append(of, [2]int{i, part})
		}
	}
	for k, s := range Balance(pieces, names, n) {
		if p := &portions[of[k][0]]; s == spec.Index {
			p.Mine = append(p.Mine, of[k][1])
		}
	}
	return portions
}

// addSaturating adds non-negative sizes, saturating at math.MaxInt64.
func addSaturating(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// loads is a heap of the shards' loads.
type loads []struct {
	size          int64
	pieces, shard int
}

// Len implements heap.Interface.
func (l loads) Len() int { return len(l) }

// Less implements heap.Interface.
func (l loads) Less(i, j int) bool {
	a, b := l[i], l[j]
	return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.pieces, b.pieces), cmp.Compare(a.shard, b.shard)) < 0
}

// Swap implements heap.Interface.
func (l loads) Swap(i, j int) { l[i], l[j] = l[j], l[i] }

// Push implements heap.Interface; no shard is added.
func (l *loads) Push(any) {}

// Pop implements heap.Interface; no shard is removed.
func (l *loads) Pop() any { return nil }

// Inventory identifies the files of a run by their names below the given folders, their sizes, and
// ETags of an object store. Times do not count: copies of a run are equal.
type Inventory struct {
	sum  hash.Hash
	line []byte // buffer for one line
}

// NewInventory returns the inventory of no files.
func NewInventory() Inventory { return Inventory{sum: sha256.New()} }

// Add adds a file: its slash-separated name below the given path number root, its size, and its
// ETag if it has one.
func (v *Inventory) Add(root int, name string, size int64, etag string) {
	b := append(strconv.AppendInt(v.line[:0], int64(root), 10), ' ')
	b = append(strconv.AppendQuote(b, name), ' ')
	b = append(strconv.AppendInt(b, size, 10), ' ')
	v.line = append(strconv.AppendQuote(b, etag), '\n')
	v.sum.Write(v.line) // never fails
}

// String returns the hash in hexadecimal.
func (v *Inventory) String() string { return hex.EncodeToString(v.sum.Sum(nil)) }
