package overflow

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"dumptool/internal/dumpdir"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// blocks holds the memory that reading tensors takes, kept for the next one.
var blocks = sync.Pool{New: func() any { return new([]byte) }}

// readTensors gathers the statistics of the tensors of an operator. It reports
// true where none of the files could be opened.
func readTensors(ctx context.Context, tensors []dumpdir.Tensor) (all []Tensor, unread bool) {
	files := new(tensorfile.Pool)
	defer files.Close()
	unread = true
	for _, of := range byFile(tensors) {
		read := readFile(ctx, files, of)
		for i := range read {
			unread = unread && read[i].unopened
		}
		all = append(all, read...)
	}
	sortTensors(all)
	return all, unread && len(all) > 0
}

// sortTensors puts inputs before outputs.
func sortTensors(all []Tensor) {
	slices.SortStableFunc(all, func(a, b Tensor) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), cmp.Compare(a.Index, b.Index))
	})
}

// byFile groups tensors by the files that hold them.
func byFile(tensors []dumpdir.Tensor) [][]dumpdir.Tensor {
	var groups [][]dumpdir.Tensor
	at := make(map[*dumpdir.File]int)
	for _, t := range tensors {
		i, ok := at[t.File]
		if !ok {
			i = len(groups)
			at[t.File] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], t)
	}
	return groups
}

// readFile gathers the statistics of the tensors of a file. Each tensor of a file
// that names its tensors is opened by itself.
func readFile(ctx context.Context, files *tensorfile.Pool, tensors []dumpdir.Tensor) []Tensor {
	if len(tensors) > 1 && tensors[0].Member != "" {
		var all []Tensor
		for i := range tensors {
			all = append(all, readFile(ctx, files, tensors[i:i+1])...)
		}
		return all
	}
	file := tensors[0].File
	if tensors[0].Table {
		return fromTable(tensors)
	}
	src, err := openFile(files, file, tensors[0].Member)
	if err != nil {
		all := make([]Tensor, len(tensors))
		for i, t := range tensors {
			all[i] = newTensor(t.Kind, t.Index, 0, 0, nil, nil)
			all[i].name, all[i].file, all[i].unopened = t.Member, file, true
			all[i].fail(err)
		}
		return all
	}
	defer src.Close()
	all := statsOf(ctx, src)
	if len(all) == 1 && len(tensors) == 1 {
		all[0].Kind, all[0].Index = tensors[0].Kind, tensors[0].Index
		if tensors[0].Statistics != nil && errors.Is(all[0].err, tensorfile.ErrNoData) {
			all = fromTable(tensors)
		} else if all[0].Stats != nil {
			all[0].excuse(tensors[0].Statistics)
		}
	}
	for i := range all {
		all[i].file = file
	}
	return all
}

func openFile(files *tensorfile.Pool, f *dumpdir.File, member string) (*tensorfile.File, error) {
	if f.Err != nil {
		return nil, f.Err
	}
	return files.Open(f.Path(), member, tensorfile.Options{Name: f.Name, Whole: member == ""})
}

// statsOf gathers the statistics of every tensor of an open file.
func statsOf(ctx context.Context, f *tensorfile.File) []Tensor {
	block := blocks.Get().(*[]byte)
	defer blocks.Put(block)
	all := make([]Tensor, len(f.Tensors))
	for i := range f.Tensors {
		src := &f.Tensors[i]
		t := newTensor(src.Kind, src.Index, src.DType, src.Format, src.Shape, src.OriginalShape)
		t.name = src.Name
		shape, err := src.Stored()
		if err == nil {
			var stats *tensor.Stats
			if stats, err = src.Stats(ctx, shape, block); stats != nil {
				t.holds(stats, src.DType, src.Shape)
			}
		}
		if err != nil {
			t.fail(err)
		}
		all[i] = t
	}
	return all
}
