package overflow

import (
	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// Fault is an error as documents have it.
type Fault struct {
	// Error is in English, ErrorZH in Chinese where that is another text.
	Error   string `json:"error,omitempty"`
	ErrorZH string `json:"error_zh,omitempty"`
	// Transport is set where it was the way to object storage, and not what lies there.
	Transport bool `json:"transport,omitempty"`
}

func faultOf(err error) Fault {
	text := lang.Error(err).Text()
	if text.ZH == text.EN {
		text.ZH = ""
	}
	return Fault{text.EN, text.ZH, store.IsTransport(err)}
}

// Text is the error in both languages.
func (f *Fault) Text() lang.Text {
	if f.ErrorZH == "" {
		return lang.Text{EN: f.Error, ZH: f.Error}
	}
	return lang.Text{EN: f.Error, ZH: f.ErrorZH}
}
