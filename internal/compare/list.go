package compare

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/tensorfile"
)

// item is one tensor of a side.
type item struct {
	place
	id int // its index among those of the side
	// folder is where the file is below the path of the side.
	folder string
	// dump is set for tensors of dumps; header is the operator's name in the
	// dump's header, empty where it has none.
	dump      bool
	header    string
	timestamp uint64
	size      int64 // of the file
	// err tells why the file cannot be read; the item stands for its output 0.
	err error
}

// side is everything that was found at the path of one side.
type side struct {
	path  string
	items []item
	// alone is set when the path is a single file.
	alone    bool
	warnings []string
	// others counts files that are neither dumps nor arrays.
	others int
}

// rawExtensions are those of files that hold elements and nothing else.
var rawExtensions = []string{".bin", ".txt"}

// findSide finds the tensors at path. skip is a folder that is left out, that of
// the results.
func findSide(ctx context.Context, path, skip string, version, workers int) (*side, error) {
	found := tensorfile.Find([]string{path}, tensorfile.FindOptions{Skip: skip})
	s := &side{path: path, alone: found.Alone(), warnings: found.Warnings}
	err := batch.Run(ctx, batch.Options{Workers: workers}, found.Entries, nil,
		func(_ context.Context, e tensorfile.Entry) listed { return look(e, version) },
		func(_ int, l listed) {
			if l.other {
				s.others++
			}
			s.items = append(s.items, l.items...)
		})
	return s, err
}

// listed is what one file holds.
type listed struct {
	items []item
	other bool
}

// look finds the tensors of a file. Arrays and raw files have one; only dumps
// have to be opened for that.
func look(e tensorfile.Entry, version int) listed {
	base := item{place: place{path: e.Path, name: e.Name, kind: tensorfile.Output}, folder: filepath.ToSlash(e.Dir), size: e.Size, err: e.Err}
	if e.Err != nil {
		return listed{items: []item{base}}
	}
	ext := strings.ToLower(filepath.Ext(e.Name))
	switch {
	case ext == ".npy":
		base.single = true
		return listed{items: []item{base}}
	case slices.Contains(rawExtensions, ext):
		base.single, base.raw = true, true
		return listed{items: []item{base}}
	}
	f, err := tensorfile.Open(e.Path, dumpfmt.Options{Version: version})
	if err != nil {
		name, claims := dumpfmt.ParseName(e.Name)
		if errors.Is(err, dumpfmt.ErrNotDump) && !claims && !e.Alone {
			return listed{other: true}
		}
		base.err, base.dump, base.timestamp = err, claims, name.Timestamp
		return listed{items: []item{base}}
	}
	defer f.Close()
	if f.IsRecord(e.Name) {
		return listed{other: true}
	}
	if f.Dump != nil {
		name, _ := dumpfmt.ParseName(e.Name)
		base.dump, base.header, base.timestamp = true, f.Dump.OpName, name.Timestamp
		if base.timestamp == 0 {
			base.timestamp = f.Dump.DumpTime
		}
	}
	var l listed
	for _, t := range f.Tensors {
		one := base
		one.kind, one.index, one.single = t.Kind, t.Index, len(f.Tensors) == 1
		one.err = t.Err
		l.items = append(l.items, one)
	}
	return l
}
