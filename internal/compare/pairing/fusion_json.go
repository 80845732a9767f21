package pairing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The JSON form of a graph, as the atc tool writes it (--mode=1) and msaccucmp
// reads it: graph[].op[]. Keys that are not needed are not looked at.

// maxFusion is how large the file may be, in bytes.
const maxFusion = 1 << 30

// maxWarnings is how many warnings are kept.
const maxWarnings = 100

type jsonOp struct {
	Name       *string         `json:"name"`
	Type       string          `json:"type"`
	ID         json.RawMessage `json:"id"`
	Input      []string        `json:"input"`
	OutputDesc []jsonDesc      `json:"output_desc"`
	Attr       jsonAttrs       `json:"attr"`
}

type jsonDesc struct {
	Attr jsonAttrs `json:"attr"`
}

// jsonAttrs are attributes by key: an array of {key, value} or an object.
type jsonAttrs map[string]json.RawMessage

// UnmarshalJSON reads either form.
func (a *jsonAttrs) UnmarshalJSON(b []byte) error {
	*a = make(jsonAttrs)
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '[' {
		var list []struct {
			Key   string          `json:"key"`
			Value json.RawMessage `json:"value"`
		}
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		for _, item := range list {
			(*a)[item.Key] = item.Value
		}
		return nil
	}
	return json.Unmarshal(b, (*map[string]json.RawMessage)(a))
}

// ReadFusion reads the JSON form of a graph. Errors name the place in the
// document.
func ReadFusion(r io.Reader) (*Fusion, error) {
	limited := &io.LimitedReader{R: r, N: maxFusion + 1}
	p := &fusionReader{dec: json.NewDecoder(limited), f: new(Fusion)}
	err := p.document()
	if limited.N == 0 {
		err = fmt.Errorf("the file is larger than %d MiB", maxFusion>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("fusion graph: %w", err)
	}
	return p.f, nil
}

type fusionReader struct {
	dec *json.Decoder
	f   *Fusion
	// graphs counts the graphs, over all keys of that name.
	graphs int
}

// wrong adds the place to err.
func (p *fusionReader) wrong(path string, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s, byte %d: %w", path, p.dec.InputOffset(), err)
}

// open wants the token that opens an object or array.
func (p *fusionReader) open(path string, want json.Delim) error {
	tok, err := p.dec.Token()
	if err != nil {
		return p.wrong(path, err)
	}
	if tok != want {
		return p.wrong(path, fmt.Errorf("found %s, want %q", tokenText(tok), want))
	}
	return nil
}

func tokenText(tok json.Token) string {
	const longest = 40
	s := fmt.Sprintf("%q", fmt.Sprint(tok))
	if len(s) > longest {
		s = s[:longest] + `..."`
	}
	return s
}

// object calls member for the members called key, and skips others. key is
// empty for an object of which nothing is wanted.
func (p *fusionReader) object(path, key string, member func() error) error {
	if err := p.open(path, '{'); err != nil {
		return err
	}
	for p.dec.More() {
		tok, err := p.dec.Token()
		if err != nil {
			return p.wrong(path, err)
		}
		if tok == key {
			err = member()
		} else {
			var skipped json.RawMessage
			if err = p.dec.Decode(&skipped); err != nil {
				err = p.wrong(path+"."+fmt.Sprint(tok), err)
			}
		}
		if err != nil {
			return err
		}
	}
	return p.close(path)
}

// array calls element with the path of every element.
func (p *fusionReader) array(path string, element func(path string) error) error {
	if err := p.open(path, '['); err != nil {
		return err
	}
	for i := 0; p.dec.More(); i++ {
		if err := element(fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return p.close(path)
}

func (p *fusionReader) close(path string) error {
	if _, err := p.dec.Token(); err != nil {
		return p.wrong(path, err)
	}
	return nil
}

func (p *fusionReader) document() error {
	found := false
	err := p.object("document", "graph", func() error {
		found = true
		return p.array("graph", p.graph)
	})
	if err != nil {
		return err
	}
	if !found {
		return errors.New(`the document has no "graph", want an array of graphs`)
	}
	return p.end()
}

// end wants nothing more.
func (p *fusionReader) end() error {
	if tok, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = fmt.Errorf("found %s, want nothing more", tokenText(tok))
		}
		return p.wrong("document", err)
	}
	return nil
}

func (p *fusionReader) graph(path string) error {
	g := p.graphs
	p.graphs++
	return p.object(path, "op", func() error {
		return p.array(path+".op", func(path string) error { return p.op(path, g) })
	})
}

func (p *fusionReader) op(path string, graph int) error {
	var j jsonOp
	if err := p.dec.Decode(&j); err != nil {
		return p.wrong(path, err)
	}
	op, err := j.convert()
	if err != nil {
		return p.wrong(path, err)
	}
	op.Graph = graph
	if old, added := p.f.index.add(op.Name, len(p.f.Ops)); !added {
		if len(p.f.Warnings) < maxWarnings {
			p.f.Warnings = append(p.f.Warnings, fmt.Sprintf("%s: the operator %q comes again, the first counts (graph %d)", path, op.Name, p.f.Ops[old].Graph))
		}
		return nil
	}
	p.f.Ops = append(p.f.Ops, op)
	return nil
}

// convert makes an operator of its JSON form.
func (j *jsonOp) convert() (FusionOp, error) {
	if j.Name == nil || *j.Name == "" {
		return FusionOp{}, errors.New("name is missing, want a text")
	}
	op := FusionOp{Name: *j.Name, Type: j.Type}
	err := errors.Join(op.setID(j.ID), op.setInputs(j.Input), op.setAttrs(j.Attr))
	for i, d := range j.OutputDesc {
		origin, descErr := d.origin()
		if descErr != nil {
			err = errors.Join(err, fmt.Errorf("output_desc[%d]: %w", i, descErr))
		}
		op.Outputs = append(op.Outputs, origin)
	}
	if err != nil {
		return FusionOp{}, fmt.Errorf("operator %q: %w", op.Name, err)
	}
	return op, nil
}

func (op *FusionOp) setID(raw json.RawMessage) error {
	if isNull(raw) {
		return nil
	}
	id, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	if err != nil {
		return fmt.Errorf("id is %s, want an integer", raw)
	}
	op.ID, op.HasID = id, true
	return nil
}

// setInputs reads entries op:output; output -1 is a control edge and an empty
// entry an input that is not connected.
func (op *FusionOp) setInputs(entries []string) error {
	for i, entry := range entries {
		if entry == "" {
			op.Inputs = append(op.Inputs, Producer{Output: -1})
			continue
		}
		name, number, ok := cutLast(entry, ":")
		output, err := strconv.ParseInt(number, 10, 32)
		if !ok || name == "" || err != nil || output < -1 {
			return fmt.Errorf("input[%d] is %q, want operator:output", i, entry)
		}
		if output >= 0 {
			op.Inputs = append(op.Inputs, Producer{name, int(output)})
		}
	}
	return nil
}

func (op *FusionOp) setAttrs(a jsonAttrs) (err error) {
	if op.Originals, err = a.texts("_datadump_original_op_names"); err != nil {
		return err
	}
	group, err := a.texts("_L1_fusion_sub_graph_no")
	if err != nil {
		return err
	}
	op.L1Group = strings.Join(group, ",")
	multi, err := a.texts("_datadump_is_multiop")
	op.MultiOp = len(multi) == 1 && (multi[0] == "1" || strings.EqualFold(multi[0], "true"))
	return err
}

func (d *jsonDesc) origin() (o Origin, err error) {
	if o.Op, err = d.Attr.text("_datadump_origin_name"); err != nil {
		return Origin{}, err
	}
	if o.Format, err = d.Attr.text("_datadump_origin_format"); err != nil {
		return Origin{}, err
	}
	index, err := d.Attr.text("_datadump_origin_output_index")
	if err != nil {
		return Origin{}, err
	}
	if index != "" {
		v, err := strconv.ParseUint(index, 10, 31)
		if err != nil {
			return Origin{}, fmt.Errorf("_datadump_origin_output_index is %q, want the number of an output", index)
		}
		o.Output = int(v)
	}
	dims, err := d.Attr.texts("origin_shape")
	if err != nil {
		return Origin{}, err
	}
	for _, dim := range dims {
		v, err := strconv.ParseInt(dim, 10, 64)
		if err != nil {
			return Origin{}, fmt.Errorf("origin_shape has %q, want integers", dim)
		}
		o.Shape = append(o.Shape, v)
	}
	return o, nil
}

// text returns the single text or number that is the value of key.
func (a jsonAttrs) text(key string) (string, error) {
	all, err := a.texts(key)
	if err != nil || len(all) == 0 {
		return "", err
	}
	if len(all) > 1 {
		return "", fmt.Errorf("%s has %d values, want one", key, len(all))
	}
	return all[0], nil
}

// texts returns the texts or numbers that are the value of key: plain, in an
// array, or in GE's form {"s": ...}, {"i": ...}, {"list": {"s": [...]}}.
func (a jsonAttrs) texts(key string) ([]string, error) {
	all, ok := scalars(a[key])
	if !ok {
		return nil, fmt.Errorf("%s is %s, want texts or numbers", key, clip(a[key]))
	}
	return all, nil
}

func clip(raw []byte) string {
	const longest = 60
	if len(raw) > longest {
		return string(raw[:longest]) + "..."
	}
	return string(raw)
}

func isNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

func scalars(raw json.RawMessage) ([]string, bool) {
	if raw = bytes.TrimSpace(raw); isNull(raw) {
		return nil, true
	}
	if raw[0] != '{' {
		return plain(raw)
	}
	var v struct {
		S, I, F, B json.RawMessage
		List       *struct{ S, I, B json.RawMessage }
	}
	if json.Unmarshal(raw, &v) != nil {
		return nil, false
	}
	forms := []json.RawMessage{v.S, v.I, v.F, v.B}
	if v.List != nil {
		forms = append(forms, v.List.S, v.List.I, v.List.B)
	}
	if i := slices.IndexFunc(forms, func(r json.RawMessage) bool { return !isNull(r) }); i >= 0 {
		return plain(forms[i])
	}
	return nil, true
}

// plain returns the texts of a text, number, boolean, or array of these.
func plain(raw json.RawMessage) ([]string, bool) {
	list := []json.RawMessage{raw}
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] == '[' {
		list = nil
		if json.Unmarshal(raw, &list) != nil {
			return nil, false
		}
	}
	all := make([]string, 0, len(list))
	for _, item := range list {
		text := string(item)
		switch item[0] {
		case '"':
			if json.Unmarshal(item, &text) != nil {
				return nil, false
			}
		case '{', '[', 'n':
			return nil, false
		}
		all = append(all, text)
	}
	return all, true
}
