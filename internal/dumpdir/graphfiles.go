package dumpdir

import (
	"sync"

	"dumptool/internal/graph"
	"dumptool/internal/guard"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// GraphFiles reads the graphs that MindSpore saved. Those of the ranks of a run are
// often alike: of such texts one is read. It may be used by several goroutines.
type GraphFiles struct {
	mu    sync.Mutex
	files map[int64]*graphShare // by their sizes
}

// graphShare is the graph of the first of the files of a size that is read. It is kept
// while there are others to come.
type graphShare struct {
	left int // files that are still to be read
	name string
	once sync.Once
	g    *graph.IR
	err  error
}

// NewGraphFiles returns a reader of files, all of which are read once.
func NewGraphFiles() *GraphFiles { return &GraphFiles{files: make(map[int64]*graphShare)} }

// Expect announces a text. What was not announced is read all the same.
func (f *GraphFiles) Expect(name string) {
	if info, err := store.Stat(name); err == nil {
		if f.files[info.Size()] == nil {
			f.files[info.Size()] = new(graphShare)
		}
		f.files[info.Size()].left++
	}
}

// Read reads a file. As with graph.ReadIR there may be a graph beside an error. The
// graph may be that of another file, and must not be changed.
func (f *GraphFiles) Read(name string, proto bool) (g *graph.IR, err error) {
	err = safefile.Read(name, func(in safefile.Input) (err error) {
		if proto {
			g, err = graph.ReadIRProto(in, in.Size())
			return err
		}
		share := f.take(in.Size(), name)
		if share == nil || share.name != name && !isAlike(share.name, name) {
			g, err = graph.ReadIR(in)
			return err
		}
		share.once.Do(func() {
			share.err = guard.Do(func() (err error) {
				share.g, err = graph.ReadIR(in)
				return err
			})
		})
		g = share.g
		return share.err
	})
	return g, err
}

// take returns what a file may share with others of its size, nil for nothing.
func (f *GraphFiles) take(size int64, name string) *graphShare {
	f.mu.Lock()
	defer f.mu.Unlock()
	share := f.files[size]
	if share == nil || share.name == "" && share.left < 2 {
		return nil
	}
	if share.name == "" {
		share.name = name
	}
	if share.left--; share.left <= 0 {
		delete(f.files, size)
	}
	return share
}

// isAlike reports whether the text of a graph reads like that in another file.
func isAlike(name, other string) bool {
	a, err := safefile.Open(name)
	if err != nil {
		return false
	}
	defer a.Close()
	b, err := safefile.Open(other)
	if err != nil {
		return false
	}
	defer b.Close()
	return graph.AlikeIR(a, b)
}
