package dumpdir

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// MappingName is the file with the original names of files whose names were too long, in folders of
// dumps and of outputs.
const MappingName = "mapping.csv"

// Options are the options of Open. The zero value lists everything.
type Options struct {
	// NoRecursive skips folders inside folders.
	NoRecursive bool
	// Skip is a folder to skip, such as the folder of the results, if it lies below a given path.
	Skip string
	// Other is another run to skip inside this one.
	Other string
	// NoRaw skips files of elements without a header and without a type in the name.
	NoRaw bool
	// Stem chooses the files of a side that lies among files of others.
	Stem Stem
	// Only are the files to list in folders, by their absolute paths; nil lists all.
	Only map[string]bool
	// Graphs reads the graphs that MindSpore saved: for order, data flow and lines of the
	// script. It takes time and memory.
	Graphs bool
	// IR is a file or folder of graphs that replaces the graphs in the run; NoIR reads none.
	IR string
	// Attributes keeps the attributes of operators in graphs.
	Attributes bool
	// Sources are further sources of order and data flow.
	Sources Sources
}

// NoIR is the IR that reads no graphs of MindSpore.
const NoIR = "off"

// walker lists the files of a run in a fixed order: paths as given, entries of folders by name.
type walker struct {
	run  *Run
	opt  Options
	skip []os.FileInfo
	// seen has the given files and the listed folders, mappings the mapping.csv of folders, by
	// absolute path.
	seen     map[string]bool
	mappings map[string]*dumpfmt.Mapping
	root     int // the index of the given path
}

// listPaths lists the files at the paths. It does not follow links to folders, and applies the
// mapping.csv of every folder.
func (r *Run) listPaths(ctx context.Context, opt Options) error {
	w := &walker{run: r, opt: opt, seen: map[string]bool{}, mappings: map[string]*dumpfmt.Mapping{}}
	for _, path := range []string{opt.Skip, opt.Other} {
		if path == "" {
			continue
		}
		if info, err := store.Stat(path); err == nil {
			w.skip = append(w.skip, info)
		}
	}
	r.inventory = shard.NewInventory()
	for i, given := range r.Paths {
		w.root = i
		var only tensorfile.Selector
		info, err := store.Stat(given)
		if err != nil {
			if file, selector, splitErr := tensorfile.Split(given); splitErr == nil {
				given, only = file, selector
				info, err = store.Stat(file)
			}
		}
		root := given
		if err == nil && info.Mode().IsRegular() {
			if root, err = store.Mount(given); err != nil {
				return err
			}
		}
		switch {
		case err != nil:
			w.addGiven(given, nil, err, only)
		case root != given:
			if err := w.listFolder(ctx, root, ".", nil); err != nil {
				return err
			}
			continue
		case info.IsDir():
			if err := w.listFolder(ctx, given, ".", nil); err != nil {
				return err
			}
			continue
		default:
			w.addGiven(given, info, nil, only)
		}
		r.Single = len(r.Paths) == 1
	}
	return nil
}

// addGiven adds a given file, or a tensor in it, unless the file is listed already.
func (w *walker) addGiven(name string, info fs.FileInfo, err error, only tensorfile.Selector) {
	abs := absoluteOrName(name)
	if w.seen[abs] || w.seen[store.Dir(abs)] {
		return
	}
	w.seen[abs] = true
	f := &Folder{Path: name, Dir: "."}
	w.run.folders = append(w.run.folders, f)
	names := &dumpfmt.Mapping{}
	if err == nil || !store.IsRemote(name) {
		names = w.readMapping(store.Dir(name), store.Dir(abs))
	}
	file := w.add(f, store.Base(name), info, names)
	file.path, file.Err, file.Only = "", err, only
}

// absoluteOrName is the absolute path of a file or folder, the name itself if that fails.
func absoluteOrName(name string) string {
	if abs, err := store.Abs(name); err == nil {
		return abs
	}
	return name
}

// listFolder lists a folder and its subfolders.
func (w *walker) listFolder(ctx context.Context, dir, rel string, parent *Folder) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	abs := absoluteOrName(dir)
	if w.seen[abs] { // given paths overlap
		return nil
	}
	w.seen[abs] = true
	f := &Folder{Path: dir, Dir: rel, parent: parent}
	w.run.folders = append(w.run.folders, f)
	var entries []fs.DirEntry
	var err error
	if parent == nil { // all folders below are listed too
		err = store.Preload(dir)
	}
	if err == nil {
		entries, err = store.ReadDir(dir)
	}
	if err != nil {
		// The folder counts as a file, because it cannot be listed.
		w.run.Files = append(w.run.Files, &File{Folder: f, Name: store.Base(dir), Err: err})
	}
	names := w.mappingOf(f, abs, entries)
	for _, e := range entries {
		name := e.Name()
		switch {
		case store.IsRemote(dir) && (!filepath.IsLocal(name) || name == "."):
			w.run.Files = append(w.run.Files, &File{Folder: f, Name: name, path: dir, Err: lang.Errorf("%s: %q in a key is no name of a file or folder", dir, name)})
		case e.IsDir():
			if w.opt.NoRecursive || w.skips(e) {
				continue
			}
			below := store.Join(dir, name)
			length := len(name)
			if rel != "." {
				length += len(rel) + 1
			}
			// A substring of below needs no memory of its own; there may be as many folders as
			// files.
			if err := w.listFolder(ctx, below, filepath.ToSlash(below[len(below)-length:]), f); err != nil {
				return err
			}
		case name == MappingName || isLeftover(name):
		default:
			w.addFolderFile(f, abs, e, names)
		}
	}
	return nil
}

// skips reports whether to skip a folder.
func (w *walker) skips(e fs.DirEntry) bool {
	if len(w.skip) == 0 {
		return false
	}
	info, err := e.Info()
	return err == nil && slices.ContainsFunc(w.skip, func(x os.FileInfo) bool { return store.IsSameFile(info, x) })
}

// addFolderFile adds a file of a folder with absolute path abs. It follows links to files wherever they
// lead, but not links to folders.
func (w *walker) addFolderFile(f *Folder, abs string, e fs.DirEntry, names *dumpfmt.Mapping) {
	if w.root > 0 || w.opt.Only != nil {
		at := store.Join(abs, e.Name())
		if w.seen[at] || w.opt.Only != nil && !w.opt.Only[at] { // given itself, or not wanted
			return
		}
	}
	if _, ok := w.opt.Stem.Cut(e.Name()); !ok {
		return
	}
	info, err := e.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = store.Stat(store.Join(f.Path, e.Name()))
	}
	if err == nil && info.IsDir() {
		w.run.addProblem(LinkedDir, store.Join(f.Path, e.Name()), Coordinates{}, lang.Errorf("the link to a folder is not followed"))
		return
	}
	if err != nil {
		info = nil
	}
	w.add(f, e.Name(), info, names).Err = err
}

func (w *walker) add(f *Folder, name string, info fs.FileInfo, names *dumpfmt.Mapping) *File {
	where := store.Join(f.Path, name)
	// A substring of where needs no memory of its own.
	file := &File{Folder: f, Name: where[len(where)-len(name):], path: where}
	if info != nil {
		file.Size = info.Size()
	}
	etag := ""
	if store.IsRemote(where) && info != nil {
		etag, _ = info.Sys().(string)
	}
	below := name
	if f.Dir != "." {
		below = path.Join(f.Dir, name)
	}
	w.run.inventory.Add(w.root, below, file.Size, etag)
	if original, ok := names.Original(name); ok {
		file.Name = original
	}
	if own, ok := w.opt.Stem.Cut(file.Name); ok {
		file.Name = own
	}
	f.files = append(f.files, file)
	w.run.Files = append(w.run.Files, file)
	return file
}

// leftoverPattern is the form of names of unfinished output files.
var leftoverPattern = lang.Pattern(`^\..*\.([0-9a-f]{8}-[0-9]+-)?[0-9A-Za-z]+\.tmp$`)

// isLeftover reports whether a file is an unfinished output of a killed process.
func isLeftover(name string) bool { return name[0] == '.' && leftoverPattern().MatchString(name) }

// mappingOf returns the mapping.csv of a folder with these entries, and warns of lines for files
// that are not in the folder.
func (w *walker) mappingOf(f *Folder, abs string, entries []fs.DirEntry) *dumpfmt.Mapping {
	if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == MappingName }) {
		return &dumpfmt.Mapping{}
	}
	m, has := w.readMapping(f.Path, abs), make(map[string]bool)
	for _, e := range entries {
		has[e.Name()] = true
	}
	stored := m.Stored()
	absent := lists.Filter(stored, func(name string) bool { return !has[name] })
	if len(absent) > 0 {
		w.run.Warnings = append(w.run.Warnings, lang.Say("%s: %d of %d entries name no file of the folder, the first is %q",
			store.Join(f.Path, MappingName), len(absent), len(stored), absent[0]))
	}
	return m
}

// readMapping reads the mapping.csv of a folder with absolute path abs; empty without one.
func (w *walker) readMapping(dir, abs string) *dumpfmt.Mapping {
	if m := w.mappings[abs]; m != nil {
		return m
	}
	name := store.Join(dir, MappingName)
	warn := func(s lang.Sentence) { w.run.Warnings = append(w.run.Warnings, s) }
	m := &dumpfmt.Mapping{}
	err := readSide(name, func(in io.Reader) error {
		read, err := dumpfmt.ReadMapping(in)
		m = cmp.Or(read, m)
		return err
	})
	w.mappings[abs] = m
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.run.BadMappings = append(w.run.BadMappings, name)
		if strings.Contains(err.Error(), name) {
			warn(lang.Error(err))
		} else {
			warn(lang.Say("%s: %v", name, err))
		}
	}
	for _, bad := range m.Bad {
		warn(lang.Say("%s: %v", name, bad))
	}
	for _, odd := range m.Warnings {
		warn(lang.Say("%s: %s", name, odd))
	}
	return m
}

// readSide reads a file beside the dumps. It opens regular files only: a pipe would block.
func readSide(name string, read func(io.Reader) error) error {
	return safefile.Read(name, func(file safefile.Input) error { return read(file) })
}

// RenamedFile is a file stored under another name.
type RenamedFile struct{ Stored, Original string }

// AddMapping adds lines to the mapping.csv of a folder and keeps the existing ones.
func AddMapping(dir string, names []RenamedFile) error {
	path := store.Join(dir, MappingName)
	old, err := readWhole(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	known, err := dumpfmt.ReadMapping(bytes.NewReader(old))
	if err != nil {
		return lang.Errorf("%s: %w", path, err)
	}
	var added []byte
	slices.SortFunc(names, func(a, b RenamedFile) int { return strings.Compare(a.Stored, b.Stored) })
	for _, n := range names {
		if have, ok := known.Original(n.Stored); !ok || have != n.Original {
			added = append(added, dumpfmt.MappingLine(n.Stored, n.Original)...)
		}
	}
	if len(added) == 0 {
		return nil
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		added = append([]byte{'\n'}, added...)
	}
	if store.IsRemote(path) { // objects cannot be appended to
		return safefile.WriteFile(path, append(old, added...))
	}
	// One write at the end, so that runs at the same time do not lose lines.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666) //nolint:forbidigo // a local file is appended to
	if err != nil {
		return err
	}
	_, err = f.Write(added)
	return errors.Join(err, f.Close())
}

// readWhole reads a file of lines that another run may be writing: while the last line has no end,
// it reads again until the file stops growing.
func readWhole(path string) ([]byte, error) {
	for size := -1; ; time.Sleep(10 * time.Millisecond) {
		data, err := safefile.ReadFile(path)
		if err != nil || store.IsRemote(path) || len(data) == size || len(data) == 0 || data[len(data)-1] == '\n' {
			return data, err
		}
		size = len(data)
	}
}
