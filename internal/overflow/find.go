package overflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpfmt"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// source is one file of a tree that has something to say.
type source struct {
	tensorfile.Entry
	Place
	// name is what the file name says; ok is false when it is no dump name.
	name dumpfmt.Name
	ok   bool
	// base is the dump's name of a .npy array, kind and index tell its tensor.
	array bool
	base  string
	kind  string
	index int
	// arrays are the tensors of an operator that has no dump but arrays.
	arrays []*source
	// opName is the full operator name of the header, possibly empty.
	opName   string
	dumpTime uint64
	records  []*opdebug.Record
	warnings []string
	opDebug  bool
	notDump  bool
	err      error
}

// timestamp is that of the file name, else that of the header.
func (s *source) timestamp() uint64 {
	if s.ok && s.name.Timestamp > 0 {
		return s.name.Timestamp
	}
	return s.dumpTime
}

// survey opens every file of a listing once, header only, and sorts out what it
// is. Files that are no dumps are marked, not dropped.
func survey(ctx context.Context, list *tensorfile.Listing, workers int) ([]*source, error) {
	all := make([]*source, 0, len(list.Entries))
	err := batch.Run(ctx, batch.Options{Workers: workers}, originals(list.Entries), nil,
		func(_ context.Context, e tensorfile.Entry) *source { return look(e) },
		func(_ int, s *source) { all = append(all, s) })
	return all, err
}

// originals leaves out arrays and decoded records of files that are in the
// listing themselves: they were made from them and say nothing new. They lie
// beside them, or in a folder of outputs: the same place of a tree, or none. A
// file that is listed twice is kept once.
func originals(entries []tensorfile.Entry) []tensorfile.Entry {
	names := map[string][]Place{}
	for _, e := range entries {
		names[e.Name] = append(names[e.Name], placeOf(e.Path, e.Dir))
	}
	derived := func(e tensorfile.Entry, original string) bool {
		at := placeOf(e.Path, e.Dir)
		return slices.ContainsFunc(names[original], func(p Place) bool {
			return p.dir == at.dir || at.Device == "" && at.Step == "" || at.Device == p.Device && at.Step == p.Step
		})
	}
	kept := make([]tensorfile.Entry, 0, len(entries))
	seen := map[string]bool{}
	for _, e := range entries {
		// The folders that were given may overlap.
		if abs, err := filepath.Abs(e.Path); err == nil {
			if seen[abs] {
				continue
			}
			seen[abs] = true
		}
		m := arrayName.FindStringSubmatch(e.Name)
		if m == nil {
			m = recordName.FindStringSubmatch(e.Name)
		}
		if m == nil || !derived(e, m[1]) {
			kept = append(kept, e)
		}
	}
	return kept
}

// operators are the dumps of operators among the sources, also those that cannot
// be read: the right operator with a broken dump is better than a wrong one. The
// arrays of one operator count as its dump.
func operators(all []*source) []*source {
	type place struct{ dir, base string }
	grouped := map[place]*source{}
	var ops []*source
	for _, s := range all {
		switch {
		case s.notDump || s.opDebug || !s.ok:
		case !s.array:
			ops = append(ops, s)
		default:
			at := place{s.dir, s.base}
			op := grouped[at]
			if op == nil {
				op = &source{Entry: s.Entry, Place: s.Place, name: s.name, ok: true, array: true, base: s.base}
				grouped[at] = op
				ops = append(ops, op)
			}
			op.arrays = append(op.arrays, s)
		}
	}
	for _, op := range ops {
		slices.SortFunc(op.arrays, func(a, b *source) int {
			return cmp.Or(strings.Compare(a.kind, b.kind), cmp.Compare(a.index, b.index)) // input before output
		})
	}
	return ops
}

// look reads the header of one file, and the payload if it is a record.
func look(e tensorfile.Entry) *source {
	s := &source{Entry: e, Place: placeOf(e.Path, e.Dir), err: e.Err}
	s.name, s.ok = dumpfmt.ParseName(e.Name)
	if m := arrayName.FindStringSubmatch(e.Name); m != nil {
		s.array = true
		s.base, s.kind, s.index = m[1], m[2], int(number(m[3]))
		s.name, s.ok = dumpfmt.ParseName(s.base)
	}
	if s.Device == "" && s.ok && s.name.HasDevice {
		s.Device = fmt.Sprint(s.name.DeviceID)
	}
	if s.err != nil {
		return s
	}
	if m := recordName.FindStringSubmatch(e.Name); m != nil && opdebug.IsOpDebugName(m[1]) {
		s.base = m[1]
		s.name, s.ok = dumpfmt.ParseName(s.base)
		s.readDecoded()
		return s
	}
	if strings.HasSuffix(e.Name, ".json") || strings.HasSuffix(e.Name, ".csv") {
		s.notDump = true
		return s
	}
	f, err := tensorfile.Open(e.Path, dumpfmt.Options{})
	if err != nil {
		claims := s.ok || e.Alone || strings.HasSuffix(e.Name, ".npy")
		if s.notDump = errors.Is(err, dumpfmt.ErrNotDump) && !claims; !s.notDump {
			s.err = err
		}
		return s
	}
	defer f.Close()
	if f.Dump == nil {
		s.array = true
		if s.kind == "" {
			s.kind = string(tensorfile.Output)
		}
		return s
	}
	s.opName, s.dumpTime = f.Dump.OpName, f.Dump.DumpTime
	if s.opDebug = f.IsRecord(e.Name) || holdsRecord(f); s.opDebug {
		s.readRecords(f)
	}
	return s
}

// holdsRecord reports whether the only tensor of a file is a record of the new
// layout by its content, whatever its names say.
func holdsRecord(f *tensorfile.File) bool {
	if len(f.Tensors) != 1 || f.Tensors[0].Kind != tensorfile.Output || f.Tensors[0].DType != tensor.Uint8 {
		return false
	}
	r, err := f.Tensors[0].Record()
	return err == nil && r.Generation == opdebug.NewLayout && len(r.Undecoded) == 0
}

// arrayName is the name of a .npy file made from a dump: the dump's name, the
// side and number of the tensor, and format, type or shape of some writers.
var arrayName = regexp.MustCompile(`^(.+)\.(input|output)\.([0-9]+)(?:\.[^.]*){0,2}\.npy$`)

// recordName is the name of a record that was decoded to JSON.
var recordName = regexp.MustCompile(`^(.+)\.output\.[0-9]+\.json$`)

// readDecoded reads a record from JSON, which MindSpore leaves in place of the
// device's file. One that was decoded with the wrong layout still tells which
// operator it speaks of.
func (s *source) readDecoded() {
	s.opDebug = true
	r, misread, err := readRecordJSON(s.Path)
	switch {
	case err != nil:
		s.err = err
		return
	case misread != nil:
		r = rescued(&misread.Rescued)
		s.warnings = append(s.warnings, misread.Error())
	}
	s.records = []*opdebug.Record{r}
}

// rescued makes a record of what is left of one that was decoded with the wrong
// layout.
func rescued(r *opdebug.Rescued) *opdebug.Record {
	area := opdebug.Area{Unit: r.Unit, ModelID: r.ModelID, StreamID: r.StreamID, TaskID: r.TaskID,
		ContextID: noID, ThreadID: noID}
	if r.HasStatus && r.LastStatus != 0 { // the other words are lost
		area.Status = []uint64{r.LastStatus}
	}
	return &opdebug.Record{Generation: opdebug.NewLayout, Header: r.Header, Areas: []opdebug.Area{area}, Warnings: r.Warnings}
}

// readRecords parses the records of an OpDebug file: one an output.
func (s *source) readRecords(f *tensorfile.File) {
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if t.Kind != tensorfile.Output {
			continue
		}
		r, err := t.Record()
		if err != nil {
			s.err = fmt.Errorf("%s: %w", t, err)
			return
		}
		s.records = append(s.records, r)
	}
	if len(s.records) == 0 {
		s.err = errors.New("the overflow record has no output")
	}
}

// below reports whether dir is inside root, or root itself.
func below(dir, root string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
