package shard

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// Document is a file with a result that can be merged, and what it says of itself.
type Document struct {
	Path string
	// Rank is that of rounds without one, as the user says: rank=7:PATH.
	Rank   string
	Schema string
	Origin
}

// rankForm is a path with the rank of what it holds.
var rankForm = lang.Pattern(`^rank=([0-9]+):(.+)$`)

// oldName matches the names of files that older versions divided and gathered work with.
var oldName = lang.Pattern(`^(part-\d{5,7}-of-\d{5,7}|plan)\.jsonl$`)

// Find returns the documents at paths, each once: files, and files of some names in
// folders or else in the folders in these. Those of older versions are an error.
func Find(paths []string, names ...string) ([]Document, error) {
	var docs []Document
	seen := make(map[string]bool)
	for _, path := range paths {
		rank := ""
		if m := rankForm().FindStringSubmatch(path); m != nil {
			rank, path = m[1], m[2]
		}
		files, err := find(store.Clean(path), names)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if seen[file] {
				continue
			}
			seen[file] = true
			d := Document{Path: file, Rank: rank}
			if err := d.read(); err != nil {
				return nil, err
			}
			docs = append(docs, d)
		}
	}
	return docs, nil
}

// find lists the documents at a path.
func find(path string, names []string) ([]string, error) {
	info, err := store.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, old(path)
	}
	files, folders, err := inFolder(path, names)
	if err != nil || len(files) > 0 {
		return files, err
	}
	for _, folder := range folders {
		more, _, err := inFolder(folder, names)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// inFolder lists the documents in a folder and its folders.
func inFolder(path string, names []string) (files, folders []string, err error) {
	entries, err := store.ReadDir(path)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		below := store.Join(path, e.Name())
		switch {
		case e.IsDir():
			folders = append(folders, below)
		case slices.Contains(names, e.Name()):
			files = append(files, below)
		case old(below) != nil:
			return nil, nil, old(below)
		}
	}
	return files, folders, nil
}

// old is the error of a file of an older version.
func old(path string) error {
	if !oldName().MatchString(store.Base(path)) {
		return nil
	}
	return fmt.Errorf("%s: made by an older version of dumptool: run the shards again", path)
}

// ReadOrigin reads what the document at a path says of itself; the error wraps
// fs.ErrNotExist where there is none.
func ReadOrigin(path string) (Document, error) {
	d := Document{Path: path}
	return d, d.read()
}

// read reads what the document says of itself, and whether it is whole.
func (d *Document) read() error {
	f, err := safefile.Open(d.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	fields := map[string]any{"schema": &d.Schema, "tool": &d.Tool, "shard": &d.Shard, "listing": &d.Listing,
		"options": &d.Options, "run_id": &d.RunID, "interrupted": &d.Interrupted}
	in := jsonpos.NewReader(f, math.MaxInt64)
	err = in.Object(func(key string) error {
		if field := fields[key]; field != nil {
			return in.Decode(field)
		}
		return in.Skip()
	})
	if err == nil {
		err = in.End()
	}
	if err != nil {
		return fmt.Errorf("%s: is cut or no document: %w", d.Path, err)
	}
	if d.Schema == "" {
		return fmt.Errorf("%s: has no schema: not a document of dumptool", d.Path)
	}
	return nil
}

// Decode reads the document.
func (d *Document) Decode(into any) error {
	f, err := safefile.Open(d.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := jsonpos.NewReader(f, math.MaxInt64)
	if err = in.Decode(into); err == nil {
		err = in.End()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.Path, err)
	}
	return nil
}

// Take returns those documents that are of a schema and a run; of any run where its name
// is empty. Documents of another version of the schema are an error.
func Take(docs []Document, schema, run string) ([]Document, error) {
	kind, _, _ := strings.Cut(schema, "/1")
	var all []Document
	for _, d := range docs {
		switch {
		case run != "" && d.RunID != run:
		case d.Schema == schema:
			all = append(all, d)
		case strings.HasPrefix(d.Schema, kind+"/"):
			return nil, fmt.Errorf("%s: has the schema %s of a newer dumptool, want %s", d.Path, d.Schema, schema)
		default:
			return nil, fmt.Errorf("%s: has the schema %s, want %s", d.Path, jsonpos.Shorten(d.Schema, 40), schema)
		}
	}
	return all, nil
}

// IsMissing reports whether there is no file at a path.
func IsMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
