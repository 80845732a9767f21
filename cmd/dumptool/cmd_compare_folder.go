package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dumptool/internal/compare"
	"dumptool/internal/safefile"
)

// reportFolder is a folder that takes reports.
type reportFolder struct {
	dir string
	// inputs are the files that were compared, by their names in lower case: a
	// report must not replace one.
	inputs map[string][]string
}

func newReportFolder(dir string, rep *compare.Report) *reportFolder {
	f := &reportFolder{dir, map[string][]string{}}
	for i := range rep.Rows {
		for _, file := range []string{rep.Rows[i].RefPath, rep.Rows[i].NPUPath} {
			if file != "" {
				name := strings.ToLower(filepath.Base(file))
				f.inputs[name] = append(f.inputs[name], file)
			}
		}
	}
	return f
}

// write writes one file, which appears under its name once all of its content
// is there.
func (f *reportFolder) write(name string, render func(io.Writer) error) error {
	path := filepath.Join(f.dir, name)
	if err := safefile.CheckOutput(path, f.inputs[strings.ToLower(name)]...); err != nil {
		return err
	}
	out, err := safefile.Create(path)
	if err != nil {
		return err
	}
	defer out.Abort()
	if err := render(out); err != nil {
		return err
	}
	return out.Commit()
}

// checkWritable finds out, before hours of work, whether files of these names
// can be written to dir, which need not exist. It leaves nothing behind.
func checkWritable(dir string, names ...string) error {
	at := dir
	for {
		_, err := os.Stat(at)
		if err == nil {
			break
		}
		if parent := filepath.Dir(at); errors.Is(err, fs.ErrNotExist) && parent != at {
			at, names = parent, []string{".dumptool"}
			continue
		}
		return fmt.Errorf("cannot write to %s: %w", dir, err)
	}
	for _, name := range names {
		f, err := safefile.Create(filepath.Join(at, name))
		if err != nil {
			return fmt.Errorf("cannot write to %s: %w", dir, err)
		}
		f.Abort()
	}
	return nil
}
