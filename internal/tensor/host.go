package tensor

// Host is an element type of host arrays: the numpy types that dumps decode
// to. Host elements are little-endian, whatever the machine is.
type Host uint8

// The host element types. HostNone is the zero value and holds nothing.
const (
	HostNone Host = iota
	HostBool
	HostInt8
	HostInt16
	HostInt32
	HostInt64
	HostUint8
	HostUint16
	HostUint32
	HostUint64
	HostFloat16
	HostFloat32
	HostFloat64
	HostComplex64
	HostComplex128
)

// hostInfo is one row of the host element type table.
type hostInfo struct {
	name  string // numpy's dtype name
	descr string // numpy's type string, as numpy.save writes it
	size  int    // bytes
}

var hosts = [...]hostInfo{
	HostNone:       {"none", "", 0},
	HostBool:       {"bool", "|b1", 1},
	HostInt8:       {"int8", "|i1", 1},
	HostInt16:      {"int16", "<i2", 2},
	HostInt32:      {"int32", "<i4", 4},
	HostInt64:      {"int64", "<i8", 8},
	HostUint8:      {"uint8", "|u1", 1},
	HostUint16:     {"uint16", "<u2", 2},
	HostUint32:     {"uint32", "<u4", 4},
	HostUint64:     {"uint64", "<u8", 8},
	HostFloat16:    {"float16", "<f2", 2},
	HostFloat32:    {"float32", "<f4", 4},
	HostFloat64:    {"float64", "<f8", 8},
	HostComplex64:  {"complex64", "<c8", 8},
	HostComplex128: {"complex128", "<c16", 16},
}

func (h Host) info() hostInfo {
	if int(h) >= len(hosts) {
		return hostInfo{}
	}
	return hosts[h]
}

// String returns numpy's name of the type, such as float16.
func (h Host) String() string { return h.info().name }

// Descr returns numpy's type string, such as <f2, as numpy.save writes it.
func (h Host) Descr() string { return h.info().descr }

// Size returns the size of one element in bytes, 0 for HostNone.
func (h Host) Size() int { return h.info().size }

// Hosts lists the host element types, HostNone left out.
func Hosts() []Host {
	all := make([]Host, 0, len(hosts)-1)
	for h := HostNone + 1; int(h) < len(hosts); h++ {
		all = append(all, h)
	}
	return all
}

// DType returns the dump element type that is stored as h is.
func (h Host) DType() DType {
	if h == HostNone {
		return Undefined
	}
	d, _ := ParseDType(h.String())
	return d
}
