"""Fetches a card and verifies it by a2a-sdk 1.x: verify.py BASE JWK"""

import asyncio
import json
import sys

import httpx
from a2a.client import A2ACardResolver
from a2a.utils.signing import create_signature_verifier
from jwt.api_jwk import PyJWK


async def main():
    key = json.loads(sys.argv[2])
    verify = create_signature_verifier(lambda kid, jku: {key["kid"]: PyJWK(key)}[kid], ["ES256", "EdDSA"])
    async with httpx.AsyncClient(timeout=20) as http:
        card = await A2ACardResolver(http, sys.argv[1]).get_agent_card(signature_verifier=verify)
    print(card.name)


asyncio.run(main())
