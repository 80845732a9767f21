package opdebug

// Rescued is what is left of a new layout record after it was read with the
// old layout and only the fields of that were kept. MindSpore's JSON files
// have this form on devices with the new layout.
//
// The old layout's first area lies over the header and the first three ids.
// All further fields of the entry fall between the old layout's fields, except
// the last of four status words.
type Rescued struct {
	Header     Header
	Unit       Unit
	ModelID    uint64
	StreamID   uint64
	TaskID     uint64
	LastStatus uint64 // the fourth status word
	HasStatus  bool   // the entry has four status words, so LastStatus is one
	Warnings   []string
}

// misread reports whether an old layout record starts with the magic number
// of the new layout.
func misread(r *Record) bool { return uint32(r.Areas[0].ModelID) == Magic }

// rescue takes apart a misread record. The result is a *MisreadError, or an
// *AccTypeError when the header has an unknown accelerator type.
func rescue(r *Record) error {
	dha, l2 := &r.Areas[0], &r.Areas[1]
	var h Header
	for i, f := range headerFields {
		pair := [...]uint64{dha.ModelID, dha.StreamID, dha.TaskID}[i/2]
		*f.ref(&h) = uint32(pair >> (32 * (i % 2)))
	}
	unit, err := h.unit()
	if err != nil {
		return err
	}
	l := h.layout(unit)
	out := Rescued{
		Header:   h,
		Unit:     unit,
		ModelID:  dha.TaskType,
		StreamID: dha.PCStart,
		TaskID:   dha.ParaBase,
		Warnings: append(h.warnings(l), r.Warnings...),
	}
	if l.statusWords() > 1 {
		out.LastStatus, out.HasStatus = l2.ModelID, true
	}
	return &MisreadError{Rescued: out}
}
