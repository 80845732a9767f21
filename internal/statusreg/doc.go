// Package statusreg knows what the bits of status and error registers of
// Ascend devices mean, in English and Chinese: the status words of overflow
// records, the AIC_ERROR register that logs show after an exception, and the
// error registers of the Ascend 950 generation. It also finds such values in
// lines of logs.
//
// The tables follow public sources: the CANN documentation on collecting and
// analysing overflow data (AI Core status), the error tables of the CANN
// runtime and of the msaicerr tool (AIC_ERROR, SDMA, AI CPU, 950), and the
// precision tool for Ascend (fields of the atomic add status). The wording is
// our own. What no source describes is reported as not documented and never
// dropped.
//
// Which overflow record a status word comes from is left to package opdebug,
// and what to think of the operator to package overflow. The registers with
// the failing addresses that logs print beside AIC_ERROR are not decoded.
package statusreg
