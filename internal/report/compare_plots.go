package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/report/plot"
)

// Gather reads tensors once more for the pictures that stay in the report, and hands
// over what the plots of each row that has them show. draw is called by several
// goroutines at a time; what it returns is called in the order of the rows, one at a
// time. It returns the errors of the rows that have no plots.
type Gather func(draw func(row int, pictures *metrics.Pictures) func() error) (failed []error)

// gatherPictures gathers the pictures of rows, and writes the plots of those that have
// them: three files each.
func gatherPictures(f *Folder, r *record.Report, gather Gather) []error {
	labels, stems, _ := operatorStems(r, true)
	return gather(func(row int, pictures *metrics.Pictures) func() error {
		label := labels.of(r.Row(row))
		files, err := plot.Draw(label, pictures)
		return func() error {
			if err != nil {
				return fmt.Errorf("%s: no plots: %w", label, err)
			}
			for _, file := range files {
				err := f.Write(stems[row]+file.Suffix, func(w io.Writer) error {
					_, err := w.Write(file.PNG)
					return err
				})
				if err != nil {
					return err
				}
			}
			return nil
		}
	})
}

// operatorStems returns the names of rows, and by their indexes those of the files
// of rows that have some, without an extension. With plots more rows have files, and
// the others the same as without.
func operatorStems(r *record.Report, plots bool) (names *labels, stems map[int]string, files *FileNames) {
	names, stems, files = labelsOf(r), map[int]string{}, NewFileNames()
	for i, row := range r.All() {
		if row.Compared() && row.HasErrors() {
			stems[i] = files.Stem(names.of(r.Row(i)))
		}
	}
	for i, row := range r.All() {
		if plots && row.Compared() && row.Status == record.Fail && stems[i] == "" { // those with errors have one
			stems[i] = files.Stem(names.of(r.Row(i)))
		}
	}
	return names, stems, files
}

// isPlot reports whether a file has the name of a plot.
func isPlot(name string) bool {
	return slices.ContainsFunc(plot.Suffixes(), func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}
