package shard

import (
	"cmp"
	"context"
	"math"
	"path"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// Document is a file with a mergeable result, and its origin.
type Document struct {
	Path string
	// Rank is the rank for rounds without one, given by the user: rank=7:PATH.
	Rank   string
	Schema string
	Origin
}

// rankForm matches a path with the rank of its contents.
var rankForm = lang.Pattern(`^rank=([0-9]+):(.+)$`)

// oldName matches names of the files with which older versions divided and gathered work.
var oldName = lang.Pattern(`^(part-\d{5,7}-of-\d{5,7}|plan)\.jsonl$`)

// Find returns the documents at paths, each once: the given files, and files named names in the
// given folders, else in their subfolders. Documents of older versions are an error.
func Find(paths []string, names ...string) ([]Document, error) {
	var docs []Document
	seen := make(map[string]bool)
	for _, path := range paths {
		rank := ""
		if m := rankForm().FindStringSubmatch(path); m != nil {
			rank, path = m[1], m[2]
		}
		files, err := listDocuments(store.Clean(path), names)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if seen[file] {
				continue
			}
			seen[file] = true
			docs = append(docs, Document{Path: file, Rank: rank})
		}
	}
	var failed error
	err := batch.Run(context.Background(), batch.Options{}, docs, nil,
		func(_ context.Context, d Document) documentResult { err := d.read(); return documentResult{d, err} },
		func(i int, f documentResult) { docs[i], failed = f.Document, cmp.Or(failed, f.err) })
	if err := cmp.Or(failed, err); err != nil {
		return nil, err
	}
	return docs, nil
}

// documentResult is a document with the error of reading it.
type documentResult struct {
	Document
	err error
}

// listDocuments lists the documents at a path.
func listDocuments(path string, names []string) ([]string, error) {
	info, err := store.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, oldVersionError(path)
	}
	files, folders, err := listFolder(path, names)
	if err != nil || len(files) > 0 {
		return files, err
	}
	for _, folder := range folders {
		more, _, err := listFolder(folder, names)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// listFolder lists the documents and the subfolders of a folder.
func listFolder(path string, names []string) (files, folders []string, err error) {
	entries, err := store.ReadDir(path)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		below := store.Join(path, e.Name())
		switch {
		case e.IsDir():
			folders = append(folders, below)
		case slices.Contains(names, strings.TrimSuffix(e.Name(), Ending)):
			files = append(files, below)
		case oldVersionError(below) != nil:
			return nil, nil, oldVersionError(below)
		}
	}
	return files, folders, nil
}

// oldVersionError returns an error for a file of an older version.
func oldVersionError(path string) error {
	if !oldName().MatchString(store.Base(path)) {
		return nil
	}
	return lang.Errorf("%s: made by an older version of dumptool: run the shards again", path)
}

// ReadOrigin reads the origin of the document at a path; the error wraps fs.ErrNotExist if there is
// none.
func ReadOrigin(path string) (Document, error) {
	d := Document{Path: path}
	return d, d.read()
}

// read reads the origin of the document, and checks that it is complete.
func (d *Document) read() error {
	f, err := Open(d.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	var options []oldOption
	fields := map[string]any{"schema": &d.Schema, "tool": &d.Tool, "shard": &d.Shard, "listing": &d.Listing,
		"options": &options, "argv": &d.Argv, "run_id": &d.RunID, "interrupted": &d.Interrupted, "unfetched": &d.Unfetched}
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
		return lang.Errorf("%s: truncated, or not a document of dumptool: %w", d.Path, err)
	}
	if d.Schema == "" {
		return lang.Errorf("%s: has no schema: not a document of dumptool", d.Path)
	}
	d.setOptions(options)
	return nil
}

// oldOption is an option as earlier documents have it: options of reports and paths stand among
// the others.
type oldOption struct {
	Option
	Path bool `json:"path"`
}

// setOptions sets the options, and moves options of reports to the command line. Paths may differ
// between machines: --ir and --custom-script-path are paths that earlier documents do not mark.
func (o *Origin) setOptions(all []oldOption) {
	for _, x := range all {
		switch {
		case x.Of == OfReport:
			o.Argv = append(o.Argv, "--"+x.Name+"="+x.Value)
		case !x.Path && x.Name != "ir" && x.Name != "custom-script-path":
			o.Options = append(o.Options, x.Option)
		}
	}
}

// Decode reads the document.
func (d *Document) Decode(into any) error {
	f, err := Open(d.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := jsonpos.NewReader(f, math.MaxInt64)
	if err = in.Decode(into); err == nil {
		err = in.End()
	}
	if err != nil {
		return lang.Errorf("%s: %w", d.Path, err)
	}
	return nil
}

// SelectRun returns the documents of a run; all if run is empty. Documents of another schema, or another
// version of it, are an error.
func SelectRun(docs []Document, schema, run string) ([]Document, error) {
	kind := path.Dir(schema)
	var all []Document
	for _, d := range docs {
		switch {
		case run != "" && d.RunID != run:
		case d.Schema == schema:
			all = append(all, d)
		case strings.HasPrefix(d.Schema, kind+"/"):
			return nil, lang.Errorf("%s: has the schema %s of another version of dumptool, want %s", d.Path, d.Schema, schema)
		default:
			return nil, lang.Errorf("%s: has the schema %s, want %s", d.Path, jsonpos.Shorten(d.Schema, 40), schema)
		}
	}
	return all, nil
}

// Origin describes where a mergeable document comes from. Documents embed it.
type Origin struct {
	// Tool is the program and its version.
	Tool string `json:"tool,omitempty"`
	// Shard is the document's part of the work, nil for all of it.
	Shard *Spec `json:"shard,omitempty"`
	// Listing identifies the list of files in which the work was found.
	Listing string `json:"listing,omitempty"`
	// Options lists the options that change rows or rounds and have other values than their
	// defaults, ordered by name.
	Options []Option `json:"options,omitempty"`
	// Argv is the command line of a shard, or of a run that --resume continues, without the name of
	// the command: a word for each value of a flag, then -- and the arguments.
	Argv []string `json:"argv,omitempty"`
	// RunID is the user's name of the run, empty for none.
	RunID string `json:"run_id,omitempty"`
	// Interrupted marks a document of unfinished work.
	Interrupted bool `json:"interrupted,omitempty"`
	// Unfetched counts tensors that the object storage did not deliver; running again may fetch
	// them.
	Unfetched int `json:"unfetched,omitempty"`
}

// IsReproducible reports whether repeating the work would give the same document.
func (o *Origin) IsReproducible() bool { return !o.Interrupted && o.Unfetched == 0 }

// Option is an option and its value.
type Option struct {
	// Name is the flag, Value its value.
	Name  string `json:"name"`
	Value string `json:"value"`
	// Values holds the values of an option that may be repeated, nil for others.
	Values []string `json:"values,omitempty"`
	// Of names the results that the option affects.
	Of Scope `json:"of"`
}

// Scope says what an option affects.
type Scope string

// The scopes. Only earlier documents have options of reports.
const (
	OfRow    Scope = "row"
	OfRound  Scope = "round"
	OfReport Scope = "report"
)

// optionText returns an option with its value as on a command line.
func (o *Origin) optionText(name string) string {
	for _, x := range o.Options {
		if x.Name == name {
			return "--" + name + " " + x.Value
		}
	}
	return "no --" + name
}

// DifferingOption returns the first option that makes rows or rounds of two documents differ, empty for
// none.
func (o *Origin) DifferingOption(other *Origin) string {
	var names []string
	for _, x := range slices.Concat(o.Options, other.Options) {
		chosen := x.Of == OfRound && o.Shard == nil && other.Shard == nil // rounds of whole runs are judged by their own options
		if !chosen && o.optionText(x.Name) != other.optionText(x.Name) {
			names = append(names, x.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}

// IsSameWork reports whether two documents come from the same files, options and shard or run.
func (o *Origin) IsSameWork(other *Origin) bool {
	a, b := o.Shard, other.Shard
	return (a == nil) == (b == nil) && (a == nil || *a == *b) && o.Listing == other.Listing && o.RunID == other.RunID && o.DifferingOption(other) == ""
}

// SetOrigin sets the origin of a document that embeds it.
func (o *Origin) SetOrigin(origin Origin) { *o = origin }

// Check returns why documents cannot be merged, nil if they can. Documents of whole runs may come
// from different files.
func Check(docs []Document) error {
	shards := make(map[int]*Document)
	for i := range docs {
		first, d := &docs[0], &docs[i]
		if err := d.checkMergeable(first); err != nil || d.Shard == nil {
			if err != nil {
				return err
			}
			continue
		}
		if other := shards[d.Shard.Index]; other != nil {
			return lang.Errorf("%s: is shard %s, and so is %s", d.Path, d.Shard, other.Path)
		}
		shards[d.Shard.Index] = d
	}
	return nil
}

// checkMergeable returns why a document cannot be merged with another one, nil if it can.
func (d *Document) checkMergeable(first *Document) error {
	if a, b := majorVersion(d.Tool), majorVersion(first.Tool); a != b && a != "" && b != "" {
		return lang.Errorf("%s: made by %s, %s by %s", d.Path, d.Tool, first.name(), first.Tool)
	}
	if name := d.DifferingOption(&first.Origin); name != "" {
		return lang.Errorf("%s: made with %s, %s with %s", d.Path, d.optionText(name), first.name(), first.optionText(name))
	}
	switch a, b := d.Shard, first.Shard; {
	case d.RunID != first.RunID:
		return lang.Errorf("%s: belongs to the run %q, %s to %q: choose one with --run", d.Path, d.RunID, first.name(), first.RunID)
	case a == nil && b == nil:
		return nil
	case a == nil || b == nil:
		return lang.Errorf("%s: this document and %s do not fit together, one belongs to a shard and the other to a whole run: merge the shards first", d.Path, first.name())
	case a.Of < 1 || a.Of > MaxShards || a.Index < 0 || a.Index >= a.Of:
		return lang.Errorf("%s: shard %s: want 0 to %d of at most %d", d.Path, a, max(a.Of, 1)-1, MaxShards)
	case a.Of != b.Of:
		return lang.Errorf("%s: is one of %d shards, but %s is one of %d", d.Path, a.Of, first.name(), b.Of)
	case d.Listing != first.Listing:
		return lang.Errorf("%s: shards %d and %d saw different files (listing %s, %s): the folders changed between them; run them again",
			store.Dir(store.Dir(d.Path)), b.Index, a.Index, shortHash(first.Listing), shortHash(d.Listing))
	}
	return nil
}

// name returns the folder of a document.
func (d *Document) name() string { return store.Base(store.Dir(d.Path)) }

// Missing returns the shards missing among matching documents, and the number of all shards; 0 for
// documents of whole runs.
func Missing(docs []Document) (missing []int, of int) {
	if len(docs) == 0 || docs[0].Shard == nil {
		return nil, 0
	}
	seen := make(map[int]bool)
	for i := range docs {
		seen[docs[i].Shard.Index] = true
	}
	of = docs[0].Shard.Of
	for i := range of {
		if !seen[i] {
			missing = append(missing, i)
		}
	}
	return missing, of
}

// MissingError reports missing shards.
type MissingError struct {
	Path    string
	Missing []int
	Of      int
	// Stale counts outdated documents, which the shards would write differently now.
	Stale int
}

// Error implements error.
func (e *MissingError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *MissingError) Text() lang.Text {
	verb := lang.Text{EN: "are"}
	if len(e.Missing) == 1 {
		verb = lang.Text{EN: "is"}
	}
	text := lang.Say("%s: %d of %d shards %s missing: %s", e.Path, len(e.Missing), e.Of, verb, rangesText(e.Missing))
	if e.Stale > 0 {
		text = lang.Say("%s; %s made from other files or with other options", text, lang.CountText(e.Stale, "document"))
	}
	return text.Text()
}

// majorVersion returns the part of a version that merged documents must share: v1 of dumptool v1.2.3;
// empty for other forms, which match all versions.
func majorVersion(tool string) string {
	_, version, _ := strings.Cut(tool, " ")
	m := versionForm().FindStringSubmatch(version)
	if m == nil {
		return ""
	}
	return m[1]
}

// versionForm matches a version with numbers.
var versionForm = lang.Pattern(`^v?(\d+)\.\d+`)

// shortHash returns the beginning of a hash.
func shortHash(hash string) string {
	const digits = 12
	if len(hash) <= digits {
		return hash
	}
	return hash[:digits] + ".."
}
