package pickle

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// global is a name that a pickle has put on the stack. It stands for no code.
type global struct {
	module, attr string
	off          int64
	opcode       string
}

func (g *global) name() string { return g.module + "." + g.attr }

func (g *global) refuse() error {
	return &RefusedError{Off: g.off, Opcode: g.opcode, Name: g.name()}
}

// known is how a name is recognised: where plain data needs it.
type known uint8

const (
	unknown known = iota
	factory       // what a defaultdict may carry; of no use alone
	setType
	frozenSetType
	bytesType
	byteArrayType
	encodeFunc
	orderedDict
	defaultDict
)

// builtins are the names of module builtins, or __builtin__ in Python 2.
var builtins = map[string]known{
	"bool": factory, "dict": factory, "float": factory, "int": factory, "list": factory, "str": factory, "tuple": factory,
	"set": setType, "frozenset": frozenSetType, "bytes": bytesType, "bytearray": byteArrayType,
}

func (g *global) known() known {
	switch {
	case g.module == "builtins" || g.module == "__builtin__":
		return builtins[g.attr]
	case g.name() == "_codecs.encode":
		return encodeFunc
	case g.name() == "collections.OrderedDict":
		return orderedDict
	case g.name() == "collections.defaultdict":
		return defaultDict
	}
	return unknown
}

// make returns what calling g with args makes, for the calls that plain data
// consists of; any other is refused.
func (g *global) make(args []any) (any, error) {
	switch k := g.known(); k {
	case setType, frozenSetType:
		return g.makeSet(k, args)
	case bytesType, byteArrayType:
		return g.makeBytes(args)
	case encodeFunc:
		return g.encode(args)
	case orderedDict:
		return g.makeOrdered(args)
	case defaultDict:
		return g.makeDefault(args)
	}
	return nil, g.refuse()
}

func (g *global) arguments() error {
	return fmt.Errorf("%s with other arguments than plain data has", g.name())
}

func (g *global) makeSet(k known, args []any) (any, error) {
	s := &Sequence{Kind: Set}
	if k == frozenSetType {
		s.Kind = FrozenSet
	}
	if len(args) == 0 {
		return s, nil
	}
	items, ok := args[0].(*Sequence)
	if len(args) != 1 || !ok {
		return nil, g.arguments()
	}
	for _, v := range items.Items {
		if err := s.add(v); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// makeBytes makes bytes or a bytearray: of nothing, of bytes, or of a latin-1
// text, as the protocols differ.
func (g *global) makeBytes(args []any) (any, error) {
	switch len(args) {
	case 0:
		return []byte{}, nil
	case 1:
		if b, ok := args[0].([]byte); ok {
			return b, nil
		}
	case 2:
		return g.encode(args)
	}
	return nil, g.arguments()
}

func (g *global) encode(args []any) (any, error) {
	if len(args) != 2 {
		return nil, g.arguments()
	}
	text, ok := args[0].(string)
	if !ok || args[1] != "latin1" && args[1] != "latin-1" {
		return nil, g.arguments()
	}
	b := make([]byte, 0, utf8.RuneCountInString(text))
	for _, r := range text {
		if r > 0xff {
			return nil, errors.New("bytes with a character beyond latin-1")
		}
		b = append(b, byte(r))
	}
	return b, nil
}

// makeOrdered makes an OrderedDict: Python 3 fills it later, Python 2 gives a
// list of pairs.
func (g *global) makeOrdered(args []any) (any, error) {
	d := new(Dict)
	if len(args) == 0 {
		return d, nil
	}
	pairs, ok := args[0].(*Sequence)
	if len(args) != 1 || !ok {
		return nil, g.arguments()
	}
	for _, p := range pairs.Items {
		pair, ok := p.(*Sequence)
		if !ok || len(pair.Items) != 2 {
			return nil, g.arguments()
		}
		if err := d.set(pair.Items[0], pair.Items[1]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (g *global) makeDefault(args []any) (any, error) {
	if len(args) > 1 {
		return nil, g.arguments()
	}
	if len(args) == 1 && args[0] != nil {
		if _, ok := args[0].(*global); !ok {
			return nil, g.arguments()
		}
	}
	return new(Dict), nil
}
