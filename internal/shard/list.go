package shard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"dumptool/internal/store"
)

// State is what is known of a part file without reading it whole.
type State string

// The states of parts.
const (
	Complete State = "complete"
	Cut      State = "cut"     // it has no end
	Damaged  State = "damaged" // it cannot be read
	Foreign  State = "foreign" // it belongs to other work, or to another version
	Doubled  State = "doubled" // another file is complete for the same shard
)

// Part is a part file.
type Part struct {
	Path  string
	Head  Head // zero when it cannot be read
	Rows  int  // in the file, when it is complete
	Bytes int64
	State State
	Err   error // why it is not complete
}

// Listing is what there is of the parts of some work.
type Listing struct {
	// Head is what all complete parts share. Its Shard means nothing.
	Head Head
	// Parts are ordered by shard and path.
	Parts []Part
	// Missing are the shards that no complete part has, in rising order.
	Missing []int

	paths []string
}

// ForeignError says that a part belongs to other work.
type ForeignError struct {
	Path string
	// What differs: plan, number of shards, number of rows, command, version or options.
	What      string
	Got, Want string
}

// Error implements error.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s: belongs to another %s (%s, want %s)", e.Path, e.What, e.Got, e.Want)
}

// List looks at the part files at paths: files, or folders with files of these names.
// The fields of want that are not zero - Kind, Tool, Plan, Of, Rows - are those of the work;
// the others are what most parts say. Only heads and ends are read, and those parts
// whole that have no end.
func List(paths []string, want Head) (*Listing, error) {
	l := &Listing{paths: paths}
	files, err := partFiles(paths)
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		l.Parts = append(l.Parts, look(path))
	}
	l.Head = l.agreed(want)
	seen := make(map[int]int) // complete parts by shard
	for i := range l.Parts {
		p := &l.Parts[i]
		if p.State != Complete {
			continue
		}
		if err := l.Head.fits(p); err != nil {
			p.State, p.Err = Foreign, err
			continue
		}
		if first, ok := seen[p.Head.Shard]; ok {
			p.State, p.Err = Doubled, fmt.Errorf("%s: is shard %d, as %s is", p.Path, p.Head.Shard, l.Parts[first].Path)
			continue
		}
		seen[p.Head.Shard] = i
	}
	for i := range l.Head.Of {
		if _, ok := seen[i]; !ok {
			l.Missing = append(l.Missing, i)
		}
	}
	slices.SortStableFunc(l.Parts, func(a, b Part) int { return cmp.Compare(a.Head.Shard, b.Head.Shard) })
	return l, nil
}

// Where names the places that were listed.
func (l *Listing) Where() string { return strings.Join(l.paths, ", ") }

// Faults are the parts that cannot be used, and why.
func (l *Listing) Faults() []error {
	var all []error
	for i := range l.Parts {
		if err := l.Parts[i].Err; err != nil {
			all = append(all, err)
		}
	}
	return all
}

// Err returns a *MissingError when there are not parts of all shards, and another error
// when there are none at all.
func (l *Listing) Err() error {
	switch {
	case l.Head.Of == 0:
		return fmt.Errorf("%s: there are no parts", l.Where())
	case len(l.Missing) > 0:
		return &MissingError{Path: l.Where(), Missing: l.Missing, Of: l.Head.Of}
	}
	return nil
}

// partFiles are the part files at paths, each once, ordered by name.
func partFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := store.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, store.Clean(path))
			continue
		}
		entries, err := store.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			const odd = fs.ModeDir | fs.ModeNamedPipe | fs.ModeSocket | fs.ModeDevice
			if IsFileName(e.Name()) && e.Type()&odd == 0 {
				files = append(files, store.Join(path, e.Name()))
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// look reads the head and the end of a part file.
func look(path string) Part {
	p := Part{Path: path, State: Damaged}
	f, err := store.Open(path)
	if err != nil {
		p.Err = err
		return p
	}
	p.Bytes = f.Size()
	defer f.Close()
	r, err := OpenPart(path)
	if err != nil {
		p.fail(err)
		return p
	}
	defer r.Close()
	p.Head = r.Head
	e, ok := lastLine(f)
	for !ok && err == nil { // find out where it ends
		_, err = r.Next()
	}
	switch {
	case !ok:
		p.fail(err)
	default:
		p.State, p.Rows = Complete, e.Rows
	}
	return p
}

// fail notes why a part cannot be used.
func (p *Part) fail(err error) {
	p.Err = err
	if _, cut := errors.AsType[*CutError](err); cut {
		p.State = Cut
	}
	if _, newer := errors.AsType[*NewerError](err); newer {
		p.State = Foreign
	}
}

// lastLine reads the end of a part file.
func lastLine(f store.Source) (end, bool) {
	buf := make([]byte, min(f.Size(), 128))
	if _, err := f.ReadAt(buf, f.Size()-int64(len(buf))); err != nil {
		return end{}, false
	}
	text, whole := bytes.CutSuffix(buf, []byte("\n"))
	at := bytes.LastIndexByte(text, '\n')
	var e end
	if !whole || at < 0 || json.Unmarshal(text[at+1:], &e) != nil || !e.End || e.Rows < 0 {
		return end{}, false
	}
	return e, true
}

// agreed is what the parts are expected to share: what is wanted, and where that says
// nothing what most of the fitting complete parts say, the first of equally many.
func (l *Listing) agreed(want Head) Head {
	type work struct {
		kind, plan string
		of, rows   int
	}
	votes := make(map[work]int)
	var best *Head
	most := 0
	for i := range l.Parts {
		p := &l.Parts[i]
		if p.State != Complete && p.State != Cut || p.Head.Of == 0 || want.fits(p) != nil {
			continue
		}
		votes[work{p.Head.Kind, p.Head.Plan, p.Head.Of, p.Head.Rows}]++
	}
	for i := range l.Parts {
		p := &l.Parts[i]
		if n := votes[work{p.Head.Kind, p.Head.Plan, p.Head.Of, p.Head.Rows}]; n > most && want.fits(p) == nil {
			best, most = &p.Head, n
		}
	}
	if best == nil {
		return want
	}
	agreed := *best
	agreed.Tool = cmp.Or(want.Tool, best.Tool)
	return agreed
}

// fits returns a *ForeignError when a part is not of the work that h describes. Fields
// of h that are zero fit to all.
func (h *Head) fits(p *Part) error {
	got := &p.Head
	differs := func(what, is, want string) error { return &ForeignError{p.Path, what, is, want} }
	number := func(n int) string { return fmt.Sprint(n) }
	switch {
	case h.Kind != "" && h.Kind != got.Kind:
		return differs("command", got.Kind, h.Kind)
	case h.Plan != "" && h.Plan != got.Plan:
		return differs("plan", short(got.Plan), short(h.Plan))
	case h.Of > 0 && h.Of != got.Of:
		return differs("number of shards", number(got.Of), number(h.Of))
	case h.Rows > 0 && h.Rows != got.Rows:
		return differs("number of rows", number(got.Rows), number(h.Rows))
	case len(h.Meta) > 0 && !bytes.Equal(h.Meta, got.Meta):
		return differs("set of options", string(got.Meta), string(h.Meta))
	}
	if a, b := major(h.Tool), major(got.Tool); a != "" && b != "" && a != b {
		return differs("version", got.Tool, h.Tool)
	}
	return nil
}

// short is the beginning of a hash.
func short(hash string) string {
	const digits = 12
	if len(hash) <= digits {
		return hash
	}
	return hash[:digits] + ".."
}
