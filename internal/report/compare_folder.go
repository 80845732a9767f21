package report

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/safefile"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
)

// NewCompareFolder returns a folder in which neither a file that was compared nor one of
// others is replaced.
func NewCompareFolder(dir string, r *record.Report, others ...string) *Folder {
	compared := map[string]bool{"": true} // a side that is missing
	others = slices.Clip(others)
	for _, row := range r.All() {
		for _, path := range []string{row.RefPath, row.NPUPath} {
			if !compared[path] {
				others, compared[path] = append(others, path), true
			}
		}
	}
	return NewFolder(dir, others...)
}

// OpConfigName is the name of the file with limits of operators, which is the
// user's to fill in.
const OpConfigName = "op_config.csv"

// WriteComparison writes the reports of a comparison in some formats. Of the
// reports of an earlier run that this one does not write again it removes those
// that dumptool wrote, but for plots, and returns the names of others. compare.json
// comes last: until it is there the old one says what may be removed.
func WriteComparison(f *Folder, formats []string, r *record.Report, opt Options) (left []string, failed []error) {
	opt.folder = true
	before := f.earlier()
	var late []string // with pictures, and links to the files before them
	early := slices.DeleteFunc(slices.Clone(formats), func(name string) bool {
		pictures := WriterOf[*record.Report](name).Keep.Pictures
		if pictures && name != documentFormat {
			late = append(late, name)
		}
		return pictures
	})
	failed = WriteFiles(f, early, r, opt)
	if opt.Gather != nil {
		failed = append(failed, gatherPictures(f, r, opt.Gather)...)
	}
	opt.beside = f.Written
	failed = append(failed, WriteFiles(f, late, r, opt)...)
	if len(failed) == 0 {
		before = f.removeStale(before)
	}
	if slices.Contains(formats, documentFormat) {
		// What could not be removed is still ours.
		r.Files = slices.Concat(f.Written, slices.DeleteFunc(before, f.wrote))
		slices.SortFunc(r.Files, func(a, b record.File) int { return strings.Compare(a.Name, b.Name) })
		failed = append(failed, WriteFiles(f, []string{documentFormat}, r, opt)...)
	}
	return f.foreign(before), failed
}

// writeHPAA writes the files of HPAA beside cpu_vs_npu.csv.
func writeHPAA(folder *Folder, r *record.Report, opt Options) error {
	if r.Any(func(row *record.Row) bool { return row.Statistics != nil && row.Judged() }) {
		if err := folder.Write(statisticsFile, func(w io.Writer) error { return writeStatisticsCSV(w, r, opt) }); err != nil {
			return err
		}
	}
	labels, stems, names := operatorStems(r, opt.Plots)
	renamed := false
	for i := range r.Len() {
		stem, ok := stems[i]
		if !ok {
			continue
		}
		row := r.Row(i)
		renamed = renamed || stem != labels.of(row)
		if !row.HasErrors() { // plots only
			continue
		}
		err := folder.Write(stem+".csv", func(w io.Writer) error { return WriteOpErrors(w, row, opt.Elements) })
		if err != nil {
			return err
		}
	}
	for _, log := range SkipLogs(r, opt.Kept) {
		if err := folder.Write(log.Name, log.Write); err != nil {
			return err
		}
	}
	if renamed {
		if err := folder.Write(opNamesFile, names.WriteTable); err != nil {
			return err
		}
	}
	return writeOpConfig(folder, r)
}

// writeOpConfig writes an op_config.csv without limits, for the user to fill
// in, unless there is one. It is the user's from then on. Names that a terminal or
// a spreadsheet would obey are left out.
func writeOpConfig(folder *Folder, r *record.Report) error {
	if _, err := store.Lstat(store.Join(folder.Dir, OpConfigName)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	names := func(yield func(string) bool) {
		for _, row := range r.All() {
			if op := row.Op; row.RefFile != "" && csvText(op) == op && !yield(op) {
				return
			}
		}
	}
	err := folder.write(OpConfigName, safefile.CreateNew, func(w io.Writer) error { return sidefile.WriteOpConfig(w, names) })
	if errors.Is(err, os.ErrExist) { // by now
		return nil
	}
	folder.Written = slices.DeleteFunc(folder.Written, func(w record.File) bool { return w.Name == OpConfigName })
	return err
}
