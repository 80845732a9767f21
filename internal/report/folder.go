package report

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
)

// Folder is the output folder of a run.
type Folder struct {
	// Dir is its path. It is created with the first file.
	Dir string
	// Written lists the written files.
	Written []record.File
	// inputs maps lower-case names to files that no report may replace.
	inputs map[string][]string
}

// NewFolder returns a folder in which the files at the input paths are never replaced.
func NewFolder(dir string, inputs ...string) *Folder {
	f := &Folder{Dir: dir, inputs: map[string][]string{}}
	for _, path := range inputs {
		name := strings.ToLower(store.Base(path))
		f.inputs[name] = append(f.inputs[name], path)
	}
	return f
}

// Write writes one file, which appears under its name when it is complete.
func (f *Folder) Write(name string, render func(io.Writer) error) error {
	return f.write(name, safefile.Create, render)
}

// write writes one file; create creates it.
func (f *Folder) write(name string, create func(path string) (*safefile.File, error), render func(io.Writer) error) error {
	path := store.Join(f.Dir, name)
	if err := f.checkNotInput(name); err != nil {
		return err
	}
	if err := safefile.MkdirAll(f.Dir); err != nil {
		return err
	}
	out, err := create(path)
	if err != nil {
		return err
	}
	defer out.Abort()
	size := &counter{Writer: out}
	if err := render(size); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	f.Written = append(f.Written, record.File{Name: name, Size: size.n})
	return nil
}

// checkNotInput returns an error if a file is one of the inputs.
func (f *Folder) checkNotInput(name string) error {
	return safefile.CheckOutput(store.Join(f.Dir, name), f.inputs[strings.ToLower(name)]...)
}

// counter counts written bytes.
type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// WriteFiles writes the reports of a result in some formats. A failed report does not stop the
// others.
func WriteFiles[R any](f *Folder, formats []string, result R, opt Options) (failed []error) {
	opt.Width = 0
	for _, format := range formats {
		if err := writeFile(f, format, result, opt); err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// writeFile writes the report of a result in a format, and the files beside it.
func writeFile[R any](f *Folder, format string, result R, opt Options) error {
	w := WriterOf[R](format)
	err := f.Write(w.File, func(out io.Writer) error { return w.render(out, result, opt) })
	if err == nil && w.writeExtra != nil {
		err = w.writeExtra(f, result, opt)
	}
	return err
}

// WriteDocument writes the document of a shard to its folder, compressed on request, and returns
// its path. A document in the other form, left by an earlier attempt, is removed.
func WriteDocument[R any](f *Folder, result R, compress bool) (path string, err error) {
	w := WriterOf[R]("json")
	name, render := w.File, func(out io.Writer) error { return w.render(out, result, Options{}) }
	if compress {
		plain := render
		name, render = name+shard.Ending, func(out io.Writer) error { return shard.Compress(out, plain) }
	}
	path = store.Join(f.Dir, name)
	if err := f.Write(name, render); err != nil {
		return path, err
	}
	return path, shard.RemoveOther(path)
}

// earlierReports lists the unchanged reports of an earlier run in the folder, from its compare.json. If
// that has no list of files, it lists the files of operators with errors.
func (f *Folder) earlierReports() []record.File {
	if _, ok := f.regularFileInfo(documentName); !ok {
		return nil
	}
	_ = store.Preload(f.Dir) // most of them are reports; later calls read again
	document, err := store.Open(store.Join(f.Dir, documentName))
	if err != nil {
		return nil
	}
	defer document.Close()
	files, ok, err := record.ReadFiles(io.NewSectionReader(document, 0, document.Size()))
	if err != nil {
		return nil
	}
	if !ok {
		r, err := record.Read(io.NewSectionReader(document, 0, document.Size()))
		if err != nil {
			return nil
		}
		files = f.opFiles(r)
	}
	return slices.DeleteFunc(files, func(file record.File) bool {
		return !isReport(file.Name) && !isTable(file.Name) && !isPlot(file.Name) || !f.isUnchanged(file)
	})
}

// isReport reports whether a file name is a report of every run in some format, in contrast to
// tables of operators.
func isReport(name string) bool {
	return slices.Contains(append(FilesOf[*record.Report](), sidefile.CheckSkipName, sidefile.ConcateSkipName, sidefile.CompareSkipName, sidefile.InvalidOutName, opNamesFile), name)
}

func isTable(name string) bool { return filepath.Ext(name) == ".csv" }

// opFiles lists the files with errors of an earlier run's operators.
func (f *Folder) opFiles(r *record.Report) []record.File {
	var files []record.File
	names, labels := NewFileNames(), labelsOf(r)
	for _, row := range r.AllRows() {
		if !row.HasErrors() {
			continue
		}
		name := names.Stem(labels.labelOf(row)) + ".csv"
		if info, ok := f.regularFileInfo(name); ok && f.listsErrors(name) {
			files = append(files, record.File{Name: name, Size: info.Size()})
		}
	}
	return files
}

// isUnchanged reports whether a listed file is in the folder as it was written. The list is
// untrusted: names with folders are refused.
func (f *Folder) isUnchanged(file record.File) bool {
	if file.Name == documentName || file.Name == OpConfigName || strings.ContainsAny(file.Name, `/\`) || !filepath.IsLocal(file.Name) {
		return false
	}
	info, ok := f.regularFileInfo(file.Name)
	return ok && info.Size() == file.Size && f.checkNotInput(file.Name) == nil
}

// regularFileInfo returns the info of a file in the folder; ok is false for links and devices.
func (f *Folder) regularFileInfo(name string) (info fs.FileInfo, ok bool) {
	info, err := store.Lstat(store.Join(f.Dir, name))
	return info, err == nil && info.Mode().IsRegular()
}

// hasWritten reports whether this run has written a file, ignoring case if the file system does.
func (f *Folder) hasWritten(file record.File) bool {
	return slices.ContainsFunc(f.Written, func(w record.File) bool {
		if w.Name == file.Name || !strings.EqualFold(w.Name, file.Name) {
			return w.Name == file.Name
		}
		a, errA := store.Lstat(store.Join(f.Dir, w.Name))
		b, errB := store.Lstat(store.Join(f.Dir, file.Name))
		return errA == nil && errB == nil && store.IsSameFile(a, b)
	})
}

// removeStale removes the files of an earlier run that this run did not rewrite, and returns the
// files that it could not remove. Plots stay: the user's notes may refer to them by name.
func (f *Folder) removeStale(before []record.File) []record.File {
	return slices.DeleteFunc(before, func(file record.File) bool {
		if f.hasWritten(file) || !f.isUnchanged(file) {
			return true
		}
		if isPlot(file.Name) {
			return false
		}
		err := store.Remove(store.Join(f.Dir, file.Name))
		return err == nil || errors.Is(err, fs.ErrNotExist)
	})
}

// foreignFiles lists files in the folder that look like reports of an earlier run, such as plots and
// files that could not be removed.
func (f *Folder) foreignFiles(before []record.File) []string {
	entries, err := store.ReadDir(f.Dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		file := record.File{Name: e.Name()}
		if !e.Type().IsRegular() || f.hasWritten(file) || f.checkNotInput(file.Name) != nil {
			continue
		}
		if isReport(file.Name) || isTable(file.Name) && f.listsErrors(file.Name) ||
			slices.ContainsFunc(before, func(b record.File) bool { return b.Name == file.Name }) {
			names = append(names, file.Name)
		}
	}
	return names
}

// listsErrors reports whether a file lists errors of an operator.
func (f *Folder) listsErrors(name string) bool {
	file, err := store.Open(store.Join(f.Dir, name))
	if err != nil {
		return false
	}
	defer file.Close()
	return isOpErrors(io.NewSectionReader(file, 0, file.Size()))
}
