"""libfabric: ``FI_LOG_LEVEL=info`` prints the provider in use, and the providers that were rejected."""

import re

from mpiric.model.fabric import PairClass, TransportPath, TransportReport

ASK = {"FI_LOG_LEVEL": "info"}

_OPENED = re.compile(r"fi_fabric_?\(\):\d+<info> (?:Opened fabric: (\S+)|Using (\S+) provider)")
_REFUSED = re.compile(
    r"::core:core:fi_getinfo_?\(\):\d+<\w+> fi_getinfo: provider (\S+) returned -\d+ \(([^)]*)\)"
)
_UNFIT = re.compile(r"<info> (no hfi device is found|no RDMA devices found|no PSM device is found)")
_LAYERED = "ofi_rxm"


def recognise(text: str) -> TransportReport:
    """Return the provider in use; a layered provider is followed by the core provider that it opened."""
    opened = [match[1] for match in _OPENED.findall(text) if match[1]]
    if not opened:
        return TransportReport()
    core = [name for name in opened if not name.startswith(_LAYERED)]
    provider = ";".join(dict.fromkeys([*core[-1:], *(name for name in opened if name == _LAYERED)]))
    refused = {name: reason for name, reason in _REFUSED.findall(text) if name not in ("ofi_mrail", "lnx")}
    why = [f"libfabric's provider {name} is rejected: {reason.lower()}" for name, reason in refused.items()]
    why += dict.fromkeys(_UNFIT.findall(text))
    return TransportReport("libfabric", {PairClass.OTHER_NODE: TransportPath(provider)}, tuple(why), provider)
