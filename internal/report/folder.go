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

// Folder takes the files of a run.
type Folder struct {
	// Dir is its path. It is made when the first file is written.
	Dir string
	// Written are the files that were written.
	Written []record.File
	// inputs are files that no report must replace, by their names in lower case.
	inputs map[string][]string
}

// NewFolder returns a folder in which the files of the given paths, if they
// are there, are not replaced.
func NewFolder(dir string, inputs ...string) *Folder {
	f := &Folder{Dir: dir, inputs: map[string][]string{}}
	for _, path := range inputs {
		name := strings.ToLower(store.Base(path))
		f.inputs[name] = append(f.inputs[name], path)
	}
	return f
}

// Write writes one file, which appears under its name once all of its content
// is there.
func (f *Folder) Write(name string, render func(io.Writer) error) error {
	return f.write(name, safefile.Create, render)
}

// write is Write, with the function that creates the file.
func (f *Folder) write(name string, create func(path string) (*safefile.File, error), render func(io.Writer) error) error {
	path := store.Join(f.Dir, name)
	if err := f.notInput(name); err != nil {
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

// notInput reports that a file is one of the inputs.
func (f *Folder) notInput(name string) error {
	return safefile.CheckOutput(store.Join(f.Dir, name), f.inputs[strings.ToLower(name)]...)
}

// counter counts the bytes that are written.
type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// WriteFiles writes the reports of a result in some formats. One that cannot be
// written does not stop the others.
func WriteFiles[R any](f *Folder, formats []string, result R, opt Options) (failed []error) {
	opt.Width = 0
	for _, format := range formats {
		if err := writeFile(f, format, result, opt); err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// writeFile writes the report of a result in a format, and what stands beside it.
func writeFile[R any](f *Folder, format string, result R, opt Options) error {
	w := WriterOf[R](format)
	err := f.Write(w.File, func(out io.Writer) error { return w.render(out, result, opt) })
	if err == nil && w.beside != nil {
		err = w.beside(f, result, opt)
	}
	return err
}

// WriteDocument writes the document of a shard, in its folder, compressed if that is wanted,
// and returns where it is. One that an earlier attempt left in the other form is removed.
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

// earlier lists the reports that an earlier run wrote to the folder, as its
// compare.json says, and that are still as it wrote them. Without the list these
// are the files of its operators that failed.
func (f *Folder) earlier() []record.File {
	if _, ok := f.regular(documentName); !ok {
		return nil
	}
	_ = store.Preload(f.Dir) // what it lists are reports mostly; who needs it asks again
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
		return !isReport(file.Name) && !isTable(file.Name) && !isPlot(file.Name) || !f.unchanged(file)
	})
}

// isReport reports whether a file of that name is a report of every run, in some
// format. Others that runs write are tables of operators.
func isReport(name string) bool {
	return slices.Contains(append(FilesOf[*record.Report](), sidefile.CheckSkipName, sidefile.ConcateSkipName, sidefile.CompareSkipName, sidefile.InvalidOutName, opNamesFile), name)
}

func isTable(name string) bool { return filepath.Ext(name) == ".csv" }

// opFiles lists the files with errors of the operators of an earlier run.
func (f *Folder) opFiles(r *record.Report) []record.File {
	var files []record.File
	names, labels := NewFileNames(), labelsOf(r)
	for _, row := range r.All() {
		if !row.HasErrors() {
			continue
		}
		name := names.Stem(labels.of(row)) + ".csv"
		if info, ok := f.regular(name); ok && f.listsErrors(name) {
			files = append(files, record.File{Name: name, Size: info.Size()})
		}
	}
	return files
}

// unchanged reports whether a file of a list is in the folder as it was written.
// The list may come from anywhere: names with folders are not followed.
func (f *Folder) unchanged(file record.File) bool {
	if file.Name == documentName || file.Name == OpConfigName || strings.ContainsAny(file.Name, `/\`) || !filepath.IsLocal(file.Name) {
		return false
	}
	info, ok := f.regular(file.Name)
	return ok && info.Size() == file.Size && f.notInput(file.Name) == nil
}

// regular looks at a file of the folder, which must be neither a link nor a
// device.
func (f *Folder) regular(name string) (info fs.FileInfo, ok bool) {
	info, err := store.Lstat(store.Join(f.Dir, name))
	return info, err == nil && info.Mode().IsRegular()
}

// wrote reports whether a file has been written by this run, in any letter case
// where the file system makes no difference.
func (f *Folder) wrote(file record.File) bool {
	return slices.ContainsFunc(f.Written, func(w record.File) bool {
		if w.Name == file.Name || !strings.EqualFold(w.Name, file.Name) {
			return w.Name == file.Name
		}
		a, errA := store.Lstat(store.Join(f.Dir, w.Name))
		b, errB := store.Lstat(store.Join(f.Dir, file.Name))
		return errA == nil && errB == nil && store.SameFile(a, b)
	})
}

// removeStale removes the files of an earlier run that this run has not written
// again, and returns those that it cannot remove. Plots stay: they may have gone into
// the user's notes by their names.
func (f *Folder) removeStale(before []record.File) []record.File {
	return slices.DeleteFunc(before, func(file record.File) bool {
		if f.wrote(file) || !f.unchanged(file) {
			return true
		}
		if isPlot(file.Name) {
			return false
		}
		err := store.Remove(store.Join(f.Dir, file.Name))
		return err == nil || errors.Is(err, fs.ErrNotExist)
	})
}

// foreign lists the files in the folder that look like reports of an earlier
// run, such as plots and those that could not be removed.
func (f *Folder) foreign(before []record.File) []string {
	entries, err := store.ReadDir(f.Dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		file := record.File{Name: e.Name()}
		if !e.Type().IsRegular() || f.wrote(file) || f.notInput(file.Name) != nil {
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
