package hpaa

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/format/npy"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// worker joins the pieces of units.
type worker struct {
	opt *Options
	// inputs holds the resolved paths of the pieces, which no output may overwrite.
	inputs     map[string]bool
	bufferPool sync.Pool
}

// resolveFolder returns an absolute path with the links of its folder resolved, if the folder exists.
func resolveFolder(path string) string {
	if abs, err := store.Abs(path); err == nil {
		path = abs
	}
	if store.IsRemote(path) {
		return path
	}
	if dir, err := store.Real(store.Dir(path)); err == nil {
		path = store.Join(dir, store.Base(path))
	}
	return path
}

// joinUnits joins the pieces of all units.
func (w *worker) joinUnits(ctx context.Context, units []workUnit) error {
	if len(units) == 0 {
		return ctx.Err()
	}
	if err := safefile.MkdirAll(w.opt.Out); err != nil {
		return err
	}
	opt := batch.Options{Workers: w.opt.Workers, Observe: w.opt.Observe}
	cost := func(u workUnit) int64 { return int64(len(u.groups)) }
	return batch.Run(ctx, opt, units, cost, func(ctx context.Context, u workUnit) (done struct{}) {
		w.joinNode(ctx, u)
		return done
	}, func(int, struct{}) {})
}

// joinNode joins the outputs of a node. If a piece is broken nothing is written, and all pieces are
// checked to report every broken piece.
func (w *worker) joinNode(ctx context.Context, u workUnit) {
	broken := false
	for _, g := range u.groups {
		broken = !w.describePieces(g) || broken
	}
	var files []*safefile.File
	defer func() {
		for _, f := range files {
			f.Abort()
		}
	}()
	memory := w.bufferPool.Get().(*buffers)
	defer w.bufferPool.Put(memory)
	for _, g := range u.groups {
		if broken {
			break
		}
		g.planJoin(w.opt)
		file, err := w.writeGroup(ctx, g, memory)
		var piece *PieceError
		switch {
		case errors.As(err, &piece):
			broken = true
		case err != nil:
			g.row.fail(&PieceError{WriteError, lang.Error(err)})
		case file != nil:
			files = append(files, file)
		}
	}
	if ctx.Err() != nil {
		return
	}
	if broken {
		w.checkAll(ctx, u, memory)
		return
	}
	for _, f := range files {
		if err := f.Commit(); err != nil {
			for _, g := range u.groups {
				if g.row.Path == f.Path() {
					g.row.fail(&PieceError{WriteError, lang.Error(err)})
				}
			}
		}
	}
}

// describePieces describes the pieces of a group by their files and reports whether all can be read.
func (w *worker) describePieces(g *group) bool {
	g.bad = make([]*PieceError, len(g.row.Pieces))
	ok := true
	for i, p := range g.row.Pieces {
		var s *openPiece
		var bad *PieceError
		err := guard.Do(func() error {
			s, bad = describePiece(p, w.hintsOf(g, p))
			return nil
		})
		if err != nil {
			bad = readError(err)
		}
		if bad != nil {
			g.bad[i], ok = bad, false
		}
		g.pieces = append(g.pieces, s)
	}
	return ok
}

// planJoin plans how the pieces of a group are joined; errors are set on its row.
func (g *group) planJoin(opt *Options) {
	if g.row.PieceError = checkNumbers(g.row.Pieces); g.row.PieceError != nil {
		return
	}
	if g.join, g.row.PieceError = planPieces(g.pieces, opt.Axis); g.row.PieceError != nil {
		return
	}
	g.row.Array = &Array{File: g.row.Path, DType: g.join.dtype, Shape: append(tensor.Shape{}, g.join.shape...)}
	if len(g.pieces) > 1 {
		g.row.Axis = &g.join.axis
	}
	g.row.Cropped = g.join.cropped
	if path := g.pieces[0].shapeFile; path != "" {
		g.row.Notes = append(g.row.Notes, "shape taken from "+path)
	}
	if g.join.cropped > 0 {
		g.row.Notes = append(g.row.Notes, fmt.Sprintf("cropped %d", g.join.cropped))
	}
	if g.join.note != "" {
		g.row.Notes = append(g.row.Notes, g.join.note)
	}
}

// writeGroup writes the array of a group to a file without a name yet. If the pieces cannot be joined
// they are only checked, and the file is nil.
func (w *worker) writeGroup(ctx context.Context, g *group, memory *buffers) (*safefile.File, error) {
	if g.join == nil {
		for _, s := range g.pieces {
			if err := s.checkData(ctx, memory); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	dec, err := tensor.NewDecoder(g.join.dtype)
	if err != nil {
		return nil, err
	}
	header, err := npy.AppendHeader(nil, dec.Host(), g.join.shape)
	if err != nil {
		return nil, err
	}
	if w.inputs[resolveFolder(g.row.Path)] {
		return nil, &safefile.OverwriteError{Output: g.row.Path, Input: g.row.Path}
	}
	file, err := safefile.Create(g.row.Path)
	if err != nil {
		return nil, err
	}
	maxBytes := int64(0) // bytes of the pieces, a bound on the reservation
	for _, s := range g.pieces {
		maxBytes += s.size
	}
	file.Reserve(min(int64(len(header))+g.join.shape.Elements()*int64(dec.Host().Size()), maxBytes))
	if err := guard.Do(func() error { return writeArray(ctx, file, g.join, dec, header, memory) }); err != nil {
		file.Abort()
		return nil, err
	}
	return file, nil
}

// writeArray writes an array.
func writeArray(ctx context.Context, file io.Writer, j *joinPlan, dec tensor.Decoder, header []byte, memory *buffers) error {
	if _, err := file.Write(header); err != nil {
		return err
	}
	var host []byte
	return j.writeElements(ctx, memory, func(block []byte) error {
		if !dec.Identity() {
			n := len(block) / dec.UnitSize() * dec.Host().Size()
			if cap(host) < n {
				host = make([]byte, n)
			}
			dec.Decode(host[:n], block)
			block = host[:n]
		}
		_, err := file.Write(block)
		return err
	})
}

// checkData reads a piece to its end.
func (s *openPiece) checkData(ctx context.Context, memory *buffers) error {
	r := newReader(s, memory, false)
	defer r.Close() //nolint:errcheck // read only
	return guard.Do(func() error { return r.checkLength(ctx) })
}

// checkAll reads all pieces of a unit with a broken piece and sets the errors of the rows.
func (w *worker) checkAll(ctx context.Context, u workUnit, memory *buffers) {
	var first *PieceError // first error of all outputs
	texts := make([]lang.Sentence, len(u.groups))
	codes := make([]Code, len(u.groups))
	for k, g := range u.groups {
		var all []lang.Sentence
		for i, p := range g.row.Pieces {
			bad := g.bad[i]
			if bad == nil {
				bad = asPieceError(g.pieces[i].checkData(ctx, memory))
			}
			if bad == nil {
				continue
			}
			if all = append(all, lang.Say("%s: %s", p.File, bad.Problem)); len(all) == 1 {
				codes[k] = bad.Code
			}
			if first == nil {
				first = &PieceError{bad.Code, lang.Say("excluded together with %s: %s", g.row.Label, all[0])}
			}
		}
		texts[k] = joinFirst(all)
	}
	for k, g := range u.groups {
		g.row.Array, g.row.Cropped, g.row.Notes = nil, 0, nil
		switch {
		case ctx.Err() != nil:
			return
		case codes[k] != "":
			g.row.fail(&PieceError{codes[k], texts[k]})
		case first != nil:
			g.row.fail(first)
		default: // the second read found no error
			g.row.fail(&PieceError{ReadError, lang.Say("a piece changed while it was read")})
		}
	}
}

// asPieceError converts an error to a *PieceError, nil for none.
func asPieceError(err error) *PieceError {
	var piece *PieceError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &piece):
		return piece
	}
	return readError(err)
}

// joinFirst joins the first five texts.
func joinFirst(texts []lang.Sentence) lang.Sentence {
	const shown = 5
	between := lang.Text{EN: "; "}
	if len(texts) > shown {
		return lang.Say("%s; and %d more", lang.Join(texts[:shown], between), len(texts)-shown)
	}
	return lang.Join(texts, between)
}

// addMapping writes the original names of renamed arrays to the mapping file.
func (w *worker) addMapping(rows []*Row) error {
	var names []dumpdir.RenamedFile
	for _, row := range rows {
		if row.Original != "" && row.PieceError == nil {
			names = append(names, dumpdir.RenamedFile{Stored: store.Base(row.Path), Original: row.Original})
		}
	}
	if len(names) == 0 {
		return nil
	}
	return dumpdir.AddMapping(w.opt.Out, names)
}

// setSums computes the digests of the pieces' files, if requested.
func (r *Result) setSums(ctx context.Context, pieces []*Piece, opt *Options) error {
	if !opt.Sums {
		return nil
	}
	return batch.Run(ctx, batch.Options{Workers: opt.Workers}, pieces, nil, func(_ context.Context, p *Piece) string { return md5Of(p.Path) },
		func(i int, sum string) {
			if sum != "" {
				r.Sums = append(r.Sums, Sum{pieces[i].File, sum})
			}
		})
}

// md5Of returns the MD5 digest of a file in hex digits; empty if it cannot be read.
func md5Of(path string) string {
	file, err := safefile.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	digest := md5.New()
	if _, err := io.Copy(digest, file); err != nil {
		return ""
	}
	return hex.EncodeToString(digest.Sum(nil))
}

// exists reports whether a path exists.
func exists(path string) bool {
	_, err := store.Lstat(path)
	return err == nil
}
