package report

import (
	"io"
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/safefile"
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
		w := WriterOf[R](format)
		err := f.Write(w.File, func(out io.Writer) error { return w.render(out, result, opt) })
		if err == nil && w.beside != nil {
			err = w.beside(f, result, opt)
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}
