package report

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"dumptool/internal/hpaa"
	"dumptool/internal/lists"
	"dumptool/internal/safefile"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
	"dumptool/internal/ui"
)

// sumsName is the file with the digests of pieces.
const sumsName = "md5.csv"

// importLogOf maps error codes of outputs without an array to logs.
var importLogOf = map[hpaa.Code]string{
	hpaa.BadHex: sidefile.CheckSkipName, hpaa.SizeMismatch: sidefile.CheckSkipName, hpaa.ReadError: sidefile.CheckSkipName,
	hpaa.MissingPiece: sidefile.ConcateSkipName, hpaa.DuplicatePiece: sidefile.ConcateSkipName, hpaa.ConcatShape: sidefile.ConcateSkipName,
	hpaa.WriteError: sidefile.ConcateSkipName,
	hpaa.NotInModel: sidefile.InvalidOutName,
}

// WriteImport writes the logs of an import to a folder, and the order of the nodes, if known, to
// the file runtime. An existing different list of names may be the device's: it is not replaced,
// and kept is true. inputs lists files that are never replaced.
func WriteImport(f *Folder, r *hpaa.Result, runtime string, inputs ...string) (kept bool, failed []error) {
	for _, log := range []string{sidefile.CheckSkipName, sidefile.ConcateSkipName, sidefile.InvalidOutName} {
		failed = appendFailed(failed, f.Write(log, func(w io.Writer) error { return writeImportLog(w, r, log) }))
	}
	var names bytes.Buffer
	for _, name := range r.Read {
		names.WriteString(ui.Escape(name) + "\n")
	}
	old, err := safefile.ReadFile(store.Join(f.Dir, sidefile.NodeNamesName))
	switch {
	case err == nil && !bytes.Equal(old, names.Bytes()):
		kept = true
	case err == nil:
	case errors.Is(err, os.ErrNotExist):
		failed = appendFailed(failed, f.Write(sidefile.NodeNamesName, bytesWriter(names.Bytes())))
	default:
		failed = append(failed, err)
	}
	if len(r.Order) > 0 {
		var order bytes.Buffer
		for i, name := range r.Order {
			order.WriteString(ui.Escape(name) + "," + strconv.Itoa(i) + "\n")
		}
		folder := NewFolder(store.Dir(runtime), inputs...)
		failed = appendFailed(failed, folder.Write(store.Base(runtime), bytesWriter(order.Bytes())))
	}
	if len(r.Sums) > 0 {
		failed = appendFailed(failed, f.Write(sumsName, func(w io.Writer) error {
			return Table[hpaa.Sum]{Columns: []Column[hpaa.Sum]{
				textColumn("file", func(s hpaa.Sum) string { return s.File }),
				textColumn("md5", func(s hpaa.Sum) string { return s.MD5 }),
			}, Rows: r.Sums}.CSV(w)
		}))
	}
	return kept, failed
}

func appendFailed(failed []error, err error) []error {
	if err != nil {
		failed = append(failed, err)
	}
	return failed
}

// bytesWriter returns a function that writes data.
func bytesWriter(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// writeImportLog writes the log with a name: a line for each output without an array, and in the
// log of unknown names one for each node that the reference lacks.
func writeImportLog(w io.Writer, r *hpaa.Result, log string) error {
	out := bufio.NewWriter(w)
	line := func(name string, code hpaa.Code, text string) {
		out.WriteString(ui.Escape(name) + "\t" + string(code) + "\t" + sidefile.ImportMark + ui.Escape(text) + "\n")
	}
	told := map[string]bool{}
	for _, row := range r.Rows {
		if row.PieceError != nil && importLogOf[row.Code] == log {
			files := lists.Map(row.Pieces, func(p *hpaa.Piece) string { return p.File })
			line(row.Label, row.Code, row.Problem.String()+"; pieces left out: "+strings.Join(files, ", "))
			told[row.Node] = true
		}
	}
	if log == sidefile.InvalidOutName {
		for _, name := range r.Unknown {
			if !told[name] {
				line(name, hpaa.NotInModel, "the reference has no such tensor")
			}
		}
	}
	return out.Flush()
}
