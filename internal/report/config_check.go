package report

import (
	"bytes"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"dumptool/internal/dumpconf"
	"dumptool/internal/store"
)

// ConfigChecks are checked configurations.
type ConfigChecks struct {
	dumpconf.Checks
	// Folder is the one from which names of files are relative; empty when
	// absolute names stay as they are.
	Folder string
	Tool   string // the program with its version
}

// ConfigName names a file in texts for people.
func ConfigName(name string) string {
	if name == dumpconf.Stdin {
		return "<stdin>"
	}
	return name
}

// WriteConfigChecks writes the findings of all files.
func (t Text) WriteConfigChecks(w io.Writer, c *ConfigChecks) error {
	p := t.to(w)
	for i := range c.Files {
		p.findings(ConfigName(c.Files[i].Name), c.Files[i].Report())
	}
	return p.err
}

// WriteConfigChecksJSON writes an object on a line for each file.
func WriteConfigChecksJSON(w io.Writer, c *ConfigChecks) error {
	return c.each(w, func(f *dumpconf.FileCheck) []byte {
		r := f.Report()
		return append(marshal(struct {
			File     string             `json:"file"`
			Schema   string             `json:"schema"`
			Findings []dumpconf.Finding `json:"findings"`
		}{f.Name, r.Schema.String(), list(r.Findings)}, ""), '\n')
	})
}

// WriteConfigDiffs writes the changes that repairs make, for patch -p1. Texts that
// are no UTF-8 are left out.
func WriteConfigDiffs(w io.Writer, c *ConfigChecks) error {
	return c.each(w, func(f *dumpconf.FileCheck) []byte {
		if !f.Changed() || !shownAsDiff(f) {
			return nil
		}
		return ConfigDiff(c.diffName(f.Name), f.Source, f.Fixed)
	})
}

func shownAsDiff(f *dumpconf.FileCheck) bool { return bytes.IndexByte(f.Source, 0) < 0 }

func (c *ConfigChecks) each(w io.Writer, text func(f *dumpconf.FileCheck) []byte) error {
	for i := range c.Files {
		if _, err := w.Write(text(&c.Files[i])); err != nil {
			return err
		}
	}
	return nil
}

// diffName names a file so that patch -p1 finds it: from the folder where it is below
// that, else by its last part.
func (c *ConfigChecks) diffName(name string) string {
	if name == dumpconf.Stdin {
		return "stdin"
	}
	if store.IsAbs(name) {
		if inside, err := store.Rel(c.Folder, name); err == nil {
			name = inside
		}
	}
	if name = store.Clean(name); store.Remote(name) || !filepath.IsLocal(name) {
		name = store.Base(name)
	}
	return filepath.ToSlash(name)
}

// uri names a file as seen from the folder.
func (c *ConfigChecks) uri(name string) string {
	if name == dumpconf.Stdin {
		return "stdin"
	}
	path := store.Clean(name)
	if scheme, object, ok := strings.Cut(path, "://"); ok && store.Remote(path) {
		bucket, key, _ := strings.Cut(object, "/")
		return (&url.URL{Scheme: scheme, Host: bucket, Path: "/" + key}).String()
	}
	if store.IsAbs(path) {
		inside, err := store.Rel(c.Folder, path)
		if err != nil || inside == ".." || strings.HasPrefix(inside, "../") {
			return (&url.URL{Scheme: "file", Path: path}).String()
		}
		path = inside
	}
	return (&url.URL{Path: filepath.ToSlash(path)}).String()
}
