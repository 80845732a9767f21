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
		files, err := plot.Draw(labels[row], pictures)
		return func() error {
			if err != nil {
				return fmt.Errorf("%s: no plots: %w", labels[row], err)
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

// operatorStems returns the names of all rows, and by their indexes those of the files
// of rows that have some, without an extension. With plots more rows have files, and
// the others the same as without.
func operatorStems(r *record.Report, plots bool) (labels []string, stems map[int]string, names *FileNames) {
	labels, stems, names = CompareLabels(r), map[int]string{}, NewFileNames()
	for i := range r.Rows {
		if r.Rows[i].Compared() && r.Rows[i].HasErrors() {
			stems[i] = names.Stem(labels[i])
		}
	}
	for i := range r.Rows {
		if plots && r.Rows[i].IsDrawn() && stems[i] == "" {
			stems[i] = names.Stem(labels[i])
		}
	}
	return labels, stems, names
}

// isPlot reports whether a file has the name of a plot.
func isPlot(name string) bool {
	return slices.ContainsFunc(plot.Suffixes(), func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}
