package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"dumptool/internal/batch"
	"dumptool/internal/check"
	"dumptool/internal/checkpoint"
	"dumptool/internal/compare/determinism"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/overflow"
	"dumptool/internal/perf"
	"dumptool/internal/report/page"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
	"dumptool/internal/store"
)

// Documents holds results that were written before, to show them again.
type Documents struct {
	// Comparison is nil if there is none. If two comparisons were given, it is the second one, and
	// Before the first.
	Comparison, Before *record.Report
	// Path is the path of the comparison, BeforePath of the previous one.
	Path, BeforePath string
	page.Documents
}

// TwiceError is a surplus document of a kind: a second one, or a third comparison.
type TwiceError struct{ Path, Schema string }

// Error names the document.
func (e *TwiceError) Error() string {
	if e.Schema == record.Schema || e.Schema == record.EarlierSchema {
		return fmt.Sprintf("%s is a third document of %s, want one, or two: before and after", e.Path, e.Schema)
	}
	return fmt.Sprintf("%s is a second document of %s", e.Path, e.Schema)
}

// documentNames lists the file names of documents that a page shows.
var documentNames = []string{documentName, "overflow.json", "overflow_scan.json", "headroom.json", "checkpoints.json", "determinism.json", "perf.json"}

// ReadDocuments reads documents, identified by their key "schema", or the documents in folders.
// Errors name the file.
func ReadDocuments(paths []string) (*Documents, error) {
	d := &Documents{Documents: page.Documents{}}
	for _, path := range paths {
		path = safefile.ResolveInFolder(path, documentNames...)
		if err := d.add(path, func(offset int64) (io.ReadCloser, error) { return shard.OpenAt(path, offset) }); err != nil {
			if _, twice := errors.AsType[*TwiceError](err); twice {
				return nil, err
			}
			return nil, safefile.WithPath(path, err)
		}
	}
	return d, nil
}

// add adds a document; for a comparison, the parts of rows that the page shows.
func (d *Documents) add(path string, open func(offset int64) (io.ReadCloser, error)) error {
	schema, err := schemaOf(open)
	if err != nil {
		return err
	}
	if schema == record.Schema || schema == record.EarlierSchema {
		if d.Before != nil {
			return &TwiceError{path, schema}
		}
		d.Before, d.BeforePath, d.Path = d.Comparison, d.Path, path
		in, err := open(0)
		if err != nil {
			return err
		}
		defer in.Close()
		d.Comparison, err = record.ReadShown(in)
		return err
	}
	kind := page.Kinds[schema]
	if kind == "" {
		return lang.Errorf("schema is %q, want %s, %s, %s, %s, %s, %s, %s or %s", jsonpos.Shorten(schema, 40), record.Schema, overflow.Schema, overflow.ScanSchema, overflow.HeadroomSchema, checkpoint.Schema, determinism.Schema, perf.Schema, check.Schema)
	}
	if d.Documents[kind] != nil {
		return &TwiceError{path, schema}
	}
	in, err := open(0)
	if err != nil {
		return err
	}
	defer in.Close()
	text, content := jsonpos.NewReader(in, math.MaxInt64), json.RawMessage{}
	if err := text.Decode(&content); err != nil {
		return err
	}
	d.Documents[kind] = content
	return cmp.Or(text.End(), d.Check())
}

// SchemaOf returns the schema of a document of dumptool; the error says why a file is none.
func SchemaOf(path string) (string, error) {
	return schemaOf(func(offset int64) (io.ReadCloser, error) { return shard.OpenAt(path, offset) })
}

// errSchemaFound ends the search for a key.
var errSchemaFound = lang.Errorf("found")

// schemaOf returns the schema of a document, which must be an object.
func schemaOf(open func(offset int64) (io.ReadCloser, error)) (schema string, err error) {
	file, err := open(0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	in := jsonpos.NewReader(file, math.MaxInt64)
	err = in.Object(func(key string) error {
		if key != "schema" {
			return in.Skip()
		}
		if err := in.Decode(&schema); err != nil {
			return err
		}
		return errSchemaFound
	})
	switch {
	case errors.Is(err, errSchemaFound):
		return schema, nil
	case err != nil:
		return "", err
	}
	return "", lang.Errorf(`key "schema" is missing: not a document of dumptool`)
}

// WritePage writes a page of the documents. Reports beside the page, which is in the folder dir,
// are linked: reports written there now, and reports of the comparison if it is in dir.
func (d *Documents) WritePage(w io.Writer, dir string, written []record.File, opt Options) error {
	opt.Page.Documents = d.Documents
	if d.Comparison == nil {
		return page.Write(w, nil, opt.Page)
	}
	opt.beside = written
	if dir != "" && safefile.IsSameFile(dir, store.Dir(d.Path)) {
		opt.beside = append(opt.beside, d.Comparison.Files...)
	}
	c := &page.Comparison{Report: d.Comparison}
	if c.Paths = [2]string{d.BeforePath, d.Path}; d.Before != nil {
		c.Before = d.Before
	}
	return writeComparedPage(w, c, opt)
}

// CountPlots counts the rows that have plots.
func (d *Documents) CountPlots() (n int) {
	if d.Comparison == nil {
		return 0
	}
	for _, row := range d.Comparison.AllRows() {
		if isDrawn(row) {
			n++
		}
	}
	return n
}

func isDrawn(row *record.Row) bool {
	return row.IsDrawn() && row.Pictures != nil && row.Pictures.Sample != nil
}

// WritePlots draws the plots of the rows whose sampled errors the comparison holds.
func (d *Documents) WritePlots(ctx context.Context, f *Folder, observe func(batch.Event)) (failed []error, err error) {
	failed = gatherPictures(f, d.Comparison, labelsOf(d.Comparison), func(draw func(int, *metrics.Pictures) func() error) (failed []error) {
		var rows []int
		for i, row := range d.Comparison.AllRows() {
			if isDrawn(row) {
				rows = append(rows, i)
			}
		}
		err = batch.Run(ctx, batch.Options{Observe: observe}, rows, nil,
			func(_ context.Context, i int) func() error {
				p := *d.Comparison.Row(i).Pictures
				var err error
				if p.Sample, err = p.Sample.Unpack(p.Total); err != nil {
					return func() error { return err }
				}
				return draw(i, &p)
			},
			func(_ int, write func() error) {
				if err := write(); err != nil {
					failed = append(failed, err)
				}
			})
		return failed
	})
	return failed, err
}
