package hpaa

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/format"
	"dumptool/internal/format/npy"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

const (
	// maxSkip is the longest header to try, in bytes.
	maxSkip = 4096
	// samples is the number of arrays on which a description is tried before the others.
	samples = 3
)

// LearnSchema is the schema of a Learned document.
const LearnSchema = "dumptool/learn/1"

// Learned is a description that makes pieces reproduce arrays in every byte, and its document.
type Learned struct {
	Schema string `json:"schema"`
	// Pattern is the template of the pieces' names. Encoding is the storage format of a piece,
	// behind Skip bytes.
	Pattern  string   `json:"pattern"`
	Encoding Encoding `json:"encoding"`
	Skip     int64    `json:"skip"`
	// DType is the element type of the pieces if it differs from the arrays' type.
	DType tensor.DType `json:"dtype,omitempty"`
	// Axis is the axis on which pieces are joined; Axes lists the nodes joined on another axis.
	Axis int            `json:"axis"`
	Axes map[string]int `json:"axes"`
	// Arrays, Pieces and Bytes count the compared data.
	Arrays int   `json:"arrays"`
	Pieces int   `json:"pieces"`
	Bytes  int64 `json:"bytes"`
	// Alone lists arrays without pieces, Others files that are no pieces.
	Alone  []string `json:"without_pieces"`
	Others []string `json:"not_used"`
}

// target is an array to reproduce from pieces.
type target struct {
	path, stem string
	array      npy.Header
	size       int64
	rows       map[*Pattern]*Row
}

// Learn looks for a description under which the files below dump reproduce the arrays in the folder
// npu: it tries patterns suggested by the names, every encoding, and headers of up to 4096 bytes,
// on the smallest arrays first. Its result reproduces every array that has pieces in every byte;
// nil if there is none.
func Learn(ctx context.Context, dump, npu string) (*Learned, error) {
	targets, err := listTargets(npu)
	if err != nil {
		return nil, err
	}
	files, err := (&Source{Dir: dump, Skip: []string{npu}}).list()
	if err != nil {
		return nil, err
	}
	l := &learner{dump: dump, npu: npu, files: files, targets: targets, room: newRoom(blockBytes)}
	for _, p := range l.patterns() {
		found, err := l.try(ctx, p)
		if found != nil || err != nil {
			return found, err
		}
	}
	return nil, ctx.Err()
}

// listTargets lists the arrays of a folder, smallest first.
func listTargets(npu string) ([]*target, error) {
	entries, err := store.ReadDir(npu)
	if err != nil {
		return nil, err
	}
	var all []*target
	for _, e := range entries {
		if !isNpyName(e.Name()) || e.IsDir() {
			continue
		}
		t := &target{path: store.Join(npu, e.Name()), stem: e.Name()[:len(e.Name())-len(".npy")], rows: map[*Pattern]*Row{}}
		if err := t.read(); err != nil {
			return nil, safefile.WithPath(t.path, err)
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b *target) int { return cmp.Compare(a.size, b.size) })
	return all, nil
}

// read reads the header of the array.
func (t *target) read() error {
	file, array, err := t.open()
	if err != nil {
		return err
	}
	t.array, t.size = array.Header, array.Size
	return file.Close()
}

func (t *target) open() (store.Source, *npy.File, error) {
	file, err := safefile.Open(t.path)
	if err != nil {
		return nil, nil, err
	}
	array, err := npy.Open(file, file.Size())
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, array, nil
}

// learner searches for a description.
type learner struct {
	dump, npu string
	files     []string
	targets   []*target
	room      *room
}

// try tries a pattern with all encodings, headers, types and axes.
func (l *learner) try(ctx context.Context, p *Pattern) (*Learned, error) {
	found := (&Source{Pattern: p, Dir: l.dump}).fit(l.files)
	covered := l.assign(p, found)
	if len(covered) == 0 {
		return nil, nil
	}
	some := covered[:min(samples, len(covered))]
	if most := slices.MaxFunc(covered, func(a, b *target) int { return len(a.rows[p].Pieces) - len(b.rows[p].Pieces) }); !slices.Contains(some, most) {
		some = append(slices.Clone(some), most)
	}
	for _, way := range l.ways(covered[0], covered[0].rows[p]) {
		if !slices.ContainsFunc(some, func(t *target) bool { return l.axisOf(ctx, t, t.rows[p], way) == noAxis }) {
			if learned := l.prove(ctx, p, way, covered); learned != nil {
				l.note(learned, p, found, covered)
				return learned, nil
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// assign finds the pieces of the arrays and returns the arrays with pieces, smallest first.
func (l *learner) assign(p *Pattern, found *Found) []*target {
	r, opt := new(Result), &Options{Out: l.npu}
	r.plan(groupPieces(r.choose(r.rename(found.Pieces, opt), opt)), opt)
	rows := make(map[string]*Row, len(r.Rows))
	for _, row := range r.Rows {
		rows[store.Base(row.Path)] = row
	}
	var covered []*target
	for _, t := range l.targets {
		if row := rows[store.Base(t.path)]; row != nil && checkNumbers(row.Pieces) == nil {
			t.rows[p] = row
			covered = append(covered, t)
		}
	}
	return covered
}

// way is a way to read the files of pieces.
type way struct {
	encoding Encoding
	skip     int64
	dtype    tensor.DType
}

// ways returns the ways under which the first piece of a row may have the size of its part of the
// array on some axis.
func (l *learner) ways(t *target, row *Row) []way {
	piece := row.Pieces[0]
	info, err := store.Stat(piece.Path)
	if err != nil {
		return nil
	}
	dtypes := []tensor.DType{t.array.Host.DType()}
	if t.array.Host == tensor.HostFloat32 {
		dtypes = append(dtypes, tensor.BFloat16)
	}
	var all []way
	add := func(w way) {
		if !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	text, err := readHead(piece.Path, maxLearned)
	if err != nil {
		return nil
	}
	for _, dtype := range dtypes {
		for axis := range max(1, len(t.array.Shape)) {
			want, _ := dtype.Bytes(partOf(t.array.Shape, axis, len(row.Pieces)).Elements())
			if skip := info.Size() - want; skip >= 0 && skip <= maxSkip {
				add(way{Bin, skip, dtype})
			}
			if int64(len(text)) < info.Size() {
				continue // too large for text
			}
			for _, e := range Encodings {
				if e.isText() {
					for _, skip := range textSkips(textForms[e], text, want) {
						add(way{e, skip, dtype})
					}
				}
			}
		}
		if bytes.Contains(text[:min(len(text), maxSkip+len(npy.Magic))], []byte(npy.Magic)) {
			add(way{Npy, int64(bytes.Index(text, []byte(npy.Magic))), dtype})
		}
	}
	return all
}

// maxLearned is the largest piece that is tried as text, in bytes.
const maxLearned = 64 << 20

// readHead reads the first bytes of a file.
func readHead(path string, most int64) ([]byte, error) {
	file, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, most))
}

// textSkips returns the lengths of headers behind which a text has exactly want bytes of numbers.
// Only offsets with a matching number of digits behind them are decoded.
func textSkips(form *textForm, text []byte, want int64) []int64 {
	numbers := want / int64(form.bytes)
	most := 2*want + numbers // the 0 of 0x counts as a digit
	digits := int64(0)
	for _, c := range text {
		if isDigit(c) {
			digits++
		}
	}
	var skips []int64
	var decoded []byte
	for skip := 0; skip <= min(maxSkip, len(text)); skip++ {
		if digits == 2*want || digits == most || form.prefix == perhaps && digits > 2*want && digits < most {
			// Trailing separators of a header add nothing.
			if skip == 0 || skip == len(text) || !separators[text[skip]] {
				decoded = slices.Grow(decoded[:0], int(want)+form.bytes)[:int(want)+form.bytes]
				if written, read, bad := form.decode(decoded, text[skip:], true); bad == nil && int64(written) == want && read == len(text)-skip {
					skips = append(skips, int64(skip))
				}
			}
		}
		if skip < len(text) && isDigit(text[skip]) {
			digits--
		}
	}
	return skips
}

// partOf returns the shape of one of n pieces joined on an axis.
func partOf(shape tensor.Shape, axis, n int) tensor.Shape {
	part := slices.Clone(shape)
	if axis < len(part) {
		count := int64(n)
		part[axis] = part[axis]/count + min(1, part[axis]%count)
	}
	return part
}

// noAxis is the result of axisOf if no axis reproduces the array.
const noAxis = -2

// axisOf returns the first axis on which the pieces of a row reproduce the array in every byte.
func (l *learner) axisOf(ctx context.Context, t *target, row *Row, w way) int {
	for axis := range max(1, len(t.array.Shape)) {
		if len(row.Pieces) == 1 && axis > 0 {
			break
		}
		if l.agrees(ctx, t, row, w, axis) {
			return axis
		}
	}
	return noAxis
}

var errDiffers = lang.Errorf("the bytes differ")

// agrees reports whether the pieces of a row reproduce the array in every byte.
func (l *learner) agrees(ctx context.Context, t *target, row *Row, w way, axis int) bool {
	var pieces []*stored
	for _, p := range row.Pieces {
		s, bad := look(p, hints{encoding: w.encoding, skip: w.skip, dtype: w.dtype, shape: partOf(t.array.Shape, axis, len(row.Pieces)), model: t.array.Shape})
		if bad != nil {
			return false
		}
		pieces = append(pieces, s)
	}
	j, bad := join(pieces, axis)
	if bad != nil || !j.shape.Equal(t.array.Shape) {
		return false
	}
	dec, err := tensor.NewDecoder(j.dtype)
	if err != nil || dec.Host() != t.array.Host {
		return false
	}
	file, array, err := t.open()
	if err != nil {
		return false
	}
	defer file.Close()
	data, at := array.Data(), int64(0)
	want := make([]byte, 0)
	compared := writerFunc(func(got []byte) (int, error) {
		want = slices.Grow(want[:0], len(got))[:len(got)]
		if err := format.ReadFull(data, want, at); err != nil || !bytes.Equal(got, want) {
			return 0, errDiffers
		}
		at += int64(len(got))
		return len(got), nil
	})
	return fill(ctx, compared, j, dec, nil, l.room) == nil && at == array.Size
}

// writerFunc adapts a function to io.Writer.
type writerFunc func([]byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// prove compares all arrays with pieces; nil unless all agree.
func (l *learner) prove(ctx context.Context, p *Pattern, w way, covered []*target) *Learned {
	learned := &Learned{Schema: LearnSchema, Pattern: p.String(), Encoding: w.encoding, Skip: w.skip, Arrays: len(covered), Axes: map[string]int{}, Alone: []string{}, Others: []string{}}
	if w.dtype != covered[0].array.Host.DType() {
		learned.DType = w.dtype
	}
	axes, votes := map[string]int{}, map[int]int{}
	for _, t := range covered {
		row := t.rows[p]
		own := w
		if learned.DType == tensor.Undefined {
			own.dtype = t.array.Host.DType()
		}
		axis := l.axisOf(ctx, t, row, own)
		if axis == noAxis {
			return nil
		}
		if len(row.Pieces) > 1 {
			axes[row.Node] = axis
			votes[axis]++
		}
		learned.Pieces += len(row.Pieces)
		learned.Bytes += t.size
	}
	for axis := range 64 {
		if votes[axis] > votes[learned.Axis] {
			learned.Axis = axis
		}
	}
	for node, axis := range axes {
		if axis != learned.Axis {
			learned.Axes[node] = axis
		}
	}
	return learned
}

// note lists arrays and files that a description leaves over.
func (l *learner) note(learned *Learned, p *Pattern, found *Found, covered []*target) {
	for _, t := range l.targets {
		if !slices.Contains(covered, t) {
			learned.Alone = append(learned.Alone, store.Base(t.path))
		}
	}
	used := map[*Piece]bool{}
	for _, t := range covered {
		for _, piece := range t.rows[p].Pieces {
			used[piece] = true
		}
	}
	for _, piece := range found.Pieces {
		if !used[piece] {
			learned.Others = append(learned.Others, piece.File)
		}
	}
	for _, o := range found.Others {
		learned.Others = append(learned.Others, o.File)
	}
}

// Flags returns the flags of an import with the description.
func (l *Learned) Flags() []string {
	flags := []string{"--piece-pattern", l.Pattern, "--encoding", string(l.Encoding)}
	if l.Skip > 0 {
		flags = append(flags, "--skip", fmt.Sprint(l.Skip))
	}
	if l.DType != tensor.Undefined {
		flags = append(flags, "--dtype", l.DType.String())
	}
	if l.Axis != 0 {
		flags = append(flags, "--default-concat-dim", fmt.Sprint(l.Axis))
	}
	return flags
}

// patterns returns templates suggested by the names of the files, fewest fields first: an array's
// name is the node, and numbers around it are outputs, pieces, rounds, or ignored.
func (l *learner) patterns() []*Pattern {
	var texts []string
	seen := map[string]bool{}
	for _, t := range l.samples() {
		node := filename.Normalise(t.stem)
		for _, file := range t.filesOf(l.files) {
			at := strings.LastIndex(filename.Normalise(file), node)
			left, right := tokens(file[:at]), tokens(file[at+len(node):])
			form := strings.Join(left, "\x00") + "\x00\x00" + strings.Join(right, "\x00")
			if !seen[form] {
				seen[form] = true
				texts = append(texts, templates(left, right)...)
			}
		}
	}
	slices.SortStableFunc(texts, func(a, b string) int { return fieldCount(a) - fieldCount(b) })
	texts = append([]string{successorPattern}, texts...)
	var all []*Pattern
	for _, text := range texts {
		if p, err := ParsePattern(text); err == nil && l.plausible(p) {
			all = append(all, p)
		}
	}
	return all
}

// fieldCount counts the fields of a template that are not ignored.
func fieldCount(text string) int { return strings.Count(text, "{") - strings.Count(text, "{*}") }

// samples returns the arrays whose files suggest templates: the smallest, and the array with the
// most files among the first hundred.
func (l *learner) samples() []*target {
	var some []*target
	var most *target
	count := 0
	for _, t := range l.targets[:min(len(l.targets), 100)] {
		n := len(t.filesOf(l.files))
		if n > 0 && len(some) < samples {
			some = append(some, t)
		}
		if n > count {
			most, count = t, n
		}
	}
	if most != nil && !slices.Contains(some, most) {
		some = append(some, most)
	}
	return some
}

// filesOf returns the files, at most 64, whose names contain the array's name.
func (t *target) filesOf(files []string) []string {
	var own []string
	for _, file := range files {
		if strings.Contains(filename.Normalise(file), filename.Normalise(t.stem)) && len(own) < 64 {
			own = append(own, file)
		}
	}
	return own
}

// plausible reports whether a pattern finds a complete set of pieces for every sample.
func (l *learner) plausible(p *Pattern) bool {
	for _, t := range l.samples() {
		found := (&Source{Pattern: p, Dir: l.dump}).fit(t.filesOf(l.files))
		if !slices.Contains(l.assign(p, found), t) {
			return false
		}
	}
	return true
}

// roles lists the possible meanings of a number in a name.
var roles = []string{"{*}", "{piece}", "{piece:hex}", "{output}", "{round}", "{round:hex}"}

// maxTokens is the number of numbers in a name that get a role, the nearest to the node.
const maxTokens = 4
