package convert

import (
	"cmp"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
	"dumptool/internal/store"
)

// Schema is the schema of a Document, DocumentName the name of its file.
const (
	Schema       = "dumptool/convert/1"
	DocumentName = "convert.json"
)

// Document has the counts of one shard of a conversion, and its part of the lists.
type Document struct {
	Schema string `json:"schema"`
	// Summary counts the results of the shard.
	Summary Summary `json:"summary"`
	// Files are the files with an entry in a list.
	Files []listEntry `json:"files"`
	Paths []anyText   `json:"paths"` // given paths
	// NotChosen counts the files that were not chosen.
	NotChosen int `json:"not_chosen"`
	// Single: only one file was given; the list of failures omits its failures.
	Single bool `json:"single,omitempty"`
	// Others describes the files, if none needs a conversion.
	Others []lang.Text `json:"others,omitempty"`
	shard.Origin
}

// listEntry is the part of the lists about one file.
type listEntry struct {
	Place  int     `json:"place"`            // number among the files of all shards
	Failed anyText `json:"failed,omitempty"` // line in the list of failures
	// Renamed are the outputs with shortened names.
	Renamed []renamedFile `json:"renamed,omitempty"`
}

// renamedFile is a shortened name with its folder, relative to the output folder.
type renamedFile struct {
	// Dir is the folder, Stored the shortened name, Original the full name.
	Dir      anyText `json:"dir"`
	Stored   anyText `json:"stored"`
	Original anyText `json:"original"`
}

// newDocument returns the document of a shard before any file.
func newDocument(in *dumpdir.Run, origin shard.Origin) *Document {
	d := &Document{Schema: Schema, Files: []listEntry{}, Paths: []anyText{}, NotChosen: in.NotChosen, Single: in.Single, Origin: origin}
	for _, path := range in.Paths {
		d.Paths = append(d.Paths, anyText(path))
	}
	if !slices.ContainsFunc(in.Files, func(f *dumpdir.File) bool { return f.Role == dumpdir.Tensors && f.Size > 0 }) {
		for _, m := range in.OtherFiles() {
			d.Others = append(d.Others, m.Text.Text())
		}
	}
	return d
}

// add adds the result of a file.
func (d *Document) add(r *Result, out string) {
	var l outcomeLists
	l.add(r)
	row := listEntry{Place: r.Job.place}
	for _, line := range l.failed {
		row.Failed = anyText(line)
	}
	for dir, names := range l.shortened {
		rel, err := store.Rel(out, dir)
		if err != nil {
			rel = dir // below out in any case
		}
		for _, n := range names {
			row.Renamed = append(row.Renamed, renamedFile{anyText(filepath.ToSlash(rel)), anyText(n.Stored), anyText(n.Original)})
		}
	}
	if row.Failed != "" || row.Renamed != nil {
		d.Files = append(d.Files, row)
	}
}

// DocumentPath returns the path of a shard's document for a conversion to the folder out.
func DocumentPath(out string, spec shard.Spec) string {
	return store.Join(out, spec.Folder(), DocumentName)
}

// write writes the document.
func (d *Document) write(out string) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	path := DocumentPath(out, *d.Shard)
	return cmp.Or(safefile.MkdirAll(store.Dir(path)), safefile.WriteFile(path, append(text, '\n')))
}

// jobsOfShard returns the files of a shard. Files are divided by size; files whose outputs may have the
// same names stay in one shard.
func jobsOfShard(all []Job, spec shard.Spec) []Job {
	return shard.Share(spec, all, func(j Job) string { return j.Folder.Dir + "\x00" + outputNameKey(j.Name) }, func(j Job) int64 { return 1 + j.Size })
}

// outputNameKey returns a key that is equal for files whose outputs may have the same name: files
// of one dump, files that differ only in the extension, and dumps of one execution whose operators
// have the same last name.
func outputNameKey(name string) string {
	info := filename.Parse(name)
	if info.Source != "" {
		name = info.Source
	}
	if parts := strings.Split(name, "."); len(parts) == 5 {
		parts[1] = ""
		return strings.Join(parts, ".")
	}
	return cutExt(name)
}

// Merge writes the list of failures and the mapping of shortened names of all shards to the output
// folder, as Run does without shards. With remove it then removes the documents of the shards.
func Merge(docs []shard.Document, out string, remove bool) (Summary, Inputs, error) {
	var all Document
	for i := range docs {
		var d Document
		if err := docs[i].Decode(&d); err != nil {
			return Summary{}, Inputs{}, err
		}
		d.Files = append(all.Files, d.Files...)
		d.Summary.merge(&all.Summary)
		all = d
	}
	slices.SortStableFunc(all.Files, func(a, b listEntry) int { return cmp.Compare(a.Place, b.Place) })
	var records outcomeLists
	for _, f := range all.Files {
		if f.Failed != "" {
			records.failed = append(records.failed, string(f.Failed))
		}
		for _, n := range f.Renamed {
			dir := store.Join(out, filepath.FromSlash(string(n.Dir)))
			if _, err := store.ResolveWithin(out, dir); err != nil {
				return Summary{}, Inputs{}, lang.Errorf("file %d of the documents: %w", f.Place, err)
			}
			records.addShortened(dir, dumpdir.RenamedFile{Stored: string(n.Stored), Original: string(n.Original)})
		}
	}
	var err error
	if !all.Single {
		err = records.writeFailed(out)
	}
	if err := errors.Join(err, records.writeMappings()); err != nil {
		return Summary{}, Inputs{}, err
	}
	for i := range docs {
		if remove {
			err = errors.Join(err, store.Remove(docs[i].Path))
			_ = store.Remove(store.Dir(docs[i].Path)) // its folder, if empty
		}
	}
	return all.Summary, all.inputs(), err
}

// merge adds the counts of another part.
func (s *Summary) merge(o *Summary) {
	s.Files, s.Failed, s.NotDumps, s.Empty = s.Files+o.Files, s.Failed+o.Failed, s.NotDumps+o.NotDumps, s.Empty+o.Empty
	s.Arrays, s.Statistics, s.Written, s.Skipped = s.Arrays+o.Arrays, s.Statistics+o.Statistics, s.Written+o.Written, s.Skipped+o.Skipped
}

// inputs returns the files that were searched.
func (d *Document) inputs() Inputs {
	in := Inputs{NotChosen: d.NotChosen, Others: func() (all []batch.Message) {
		for _, t := range d.Others {
			all = append(all, batch.Infof("%s", t))
		}
		return all
	}}
	for _, path := range d.Paths {
		in.Paths = append(in.Paths, string(path))
	}
	return in
}

// anyText is a text in a document that may hold any bytes, such as a path. In JSON it is a string,
// or an object {"bytes": BASE64} if it is not valid UTF-8.
type anyText string

// rawText is the JSON form of an anyText that is not valid UTF-8.
type rawText struct {
	Bytes []byte `json:"bytes"`
}

// MarshalJSON implements json.Marshaler.
func (t anyText) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(rawText{[]byte(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *anyText) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var raw rawText
		err := json.Unmarshal(data, &raw)
		*t = anyText(raw.Bytes)
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}
